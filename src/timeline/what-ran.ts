import { InputError } from '../base/input-error.js';
import { type Ms, ms } from '../base/units.js';
import type { DrawnSlices, RankLine, TimelineSource, TrackInfo } from '../drawing/timeline.js';
import { TIME_CLASSES, type TimeClass } from '../facts/time-class.js';

/** Where to look. */
export interface Where {
  /** Default: the first rank with a trace. */
  readonly rank?: number | undefined;
  /** A recorded step. Default without a range: the step of median length. */
  readonly step?: number | undefined;
  /** On the run's aligned clock, from the earliest event. */
  readonly from_ms?: number | undefined;
  readonly to_ms?: number | undefined;
}

/** What ran on one rank in a range of time. Times are on the run's aligned clock, from the earliest event. */
export interface WhatRan {
  readonly schema: 'whyslow/timeline/1';
  readonly rank: number;
  readonly from_ms: Ms;
  readonly to_ms: Ms;
  /** The recorded steps that overlap the range. */
  readonly steps: readonly { readonly step: number; readonly from_ms: Ms; readonly to_ms: Ms }[];
  /** Where the time of the range went; adds up to what was recorded of it. */
  readonly time: Readonly<Partial<Record<TimeClass, Ms>>>;
  /** Work of the device, most time first. */
  readonly device: readonly Ran[];
  /** Calls of the host's training threads, longest in all first; a call holds the calls inside it. */
  readonly host: readonly Ran[];
  /** The longest single pieces, in order of time. */
  readonly longest: readonly {
    readonly name: string;
    readonly on: string;
    readonly start_ms: Ms;
    readonly ms: Ms;
  }[];
  /** Ranks that can be asked for. */
  readonly ranks: readonly number[];
  readonly notes: readonly string[];
}

interface Ran {
  readonly name: string;
  readonly ms: Ms;
  readonly count: number;
}

const MOST_NAMES = 20;
const MOST_LONGEST = 12;
/** Shorter pieces in a wide range are drawn as one: more detail than a person or a model can use. */
const PIECES = 20_000;

const inMs = (ns: number): Ms => ms(Math.round(ns / 1000) / 1000);

/** What ran in a step or a range on one rank. Throws InputError when there is no such rank or step. */
export async function whatRanIn(
  timeline: TimelineSource,
  { rank, step, from_ms, to_ms }: Where,
): Promise<WhatRan> {
  const { ranks, notes } = await timeline.tracks();
  const line = rank === undefined ? ranks[0]! : ranks.find((r) => r.rank === rank);
  if (!line)
    throw new InputError(`rank ${rank} has no trace; these have: ${ranks.map((r) => r.rank).join(', ')}`);
  const [from, to] = rangeOf(line, step, from_ms, to_ms);
  const { time, kernels, moreKernels, summarized } = await timeline.totals({ rank: line.rank, from, to });
  const host = new Map<string, { ns: number; count: number }>();
  const longest: { name: string; on: string; start: number; ns: number }[] = [];
  for (const [slices, track] of await slicesOf(timeline, line.rank, from, to)) {
    for (let i = 0; i < slices.length; i++) {
      const start = Math.max(from, slices.start[i]!);
      const ns = Math.min(to, slices.end[i]!) - start;
      if (!(ns > 0)) continue;
      const name = slices.names[slices.name[i]!]!;
      if (track.kind === 'thread') {
        const sum = host.get(name) ?? { ns: 0, count: 0 };
        host.set(name, { ns: sum.ns + ns, count: sum.count + slices.count[i]! });
      }
      if (slices.count[i] === 1) longest.push({ name, on: track.title, start, ns });
    }
    longest.sort((a, b) => b.ns - a.ns).splice(MOST_LONGEST);
  }
  const calls = [...host].sort((a, b) => b[1].ns - a[1].ns);
  const spent = TIME_CLASSES.filter((c) => time[c] > 0);
  return {
    schema: 'whyslow/timeline/1',
    rank: line.rank,
    from_ms: inMs(from),
    to_ms: inMs(to),
    steps: line.steps
      .filter((s) => s.to > from && s.from < to)
      .slice(0, MOST_NAMES)
      .map((s) => ({ step: s.number, from_ms: inMs(s.from), to_ms: inMs(s.to) })),
    time: Object.fromEntries(spent.map((c) => [c, inMs(time[c])])),
    device: kernels.slice(0, MOST_NAMES).map((k) => ({ name: k.name, ms: inMs(k.time), count: k.count })),
    host: calls.slice(0, MOST_NAMES).map(([name, { ns, count }]) => ({ name, ms: inMs(ns), count })),
    longest: longest
      .sort((a, b) => a.start - b.start)
      .map(({ name, on, start, ns }) => ({ name, on, start_ms: inMs(start), ms: inMs(ns) })),
    ranks: ranks.map((r) => r.rank),
    notes: [
      ...notes,
      ...(moreKernels + Math.max(0, kernels.length - MOST_NAMES) > 0
        ? [
            `${moreKernels + Math.max(0, kernels.length - MOST_NAMES)} more kinds of device work are not listed`,
          ]
        : []),
      ...(calls.length > MOST_NAMES ? [`${calls.length - MOST_NAMES} more host calls are not listed`] : []),
      ...(summarized
        ? ['Short kernels of a wide range are counted under the names of their neighbors.']
        : []),
    ],
  };
}

/** In ns. */
function rangeOf(line: RankLine, step?: number, from?: number, to?: number): readonly [number, number] {
  if (from !== undefined || to !== undefined) {
    const range = [
      from === undefined ? line.from : 1e6 * from,
      to === undefined ? line.to : 1e6 * to,
    ] as const;
    if (!(range[1] > range[0] && range[0] < line.to && range[1] > line.from))
      throw new InputError(
        `rank ${line.rank} was recorded from ${inMs(line.from)} to ${inMs(line.to)} ms, and the range holds nothing of that`,
      );
    return range;
  }
  if (line.steps.length === 0) {
    if (step !== undefined) throw new InputError('no steps were recorded: name a range of time');
    return [line.from, line.to];
  }
  const median = line.steps.toSorted((a, b) => a.to - a.from - (b.to - b.from))[line.steps.length >> 1]!;
  const chosen = step === undefined ? median : line.steps.find((s) => s.number === step);
  if (!chosen)
    throw new InputError(
      `step ${step} was not recorded on rank ${line.rank}; these were: ${line.steps[0]!.number} to ${line.steps.at(-1)!.number}`,
    );
  return [chosen.from, chosen.to];
}

/** Of streams and of threads that launch work. */
async function slicesOf(
  timeline: TimelineSource,
  rank: number,
  from: number,
  to: number,
): Promise<readonly (readonly [DrawnSlices, TrackInfo])[]> {
  const tracks = await timeline.open(rank);
  return Promise.all(
    tracks.flatMap((info, track) =>
      info.kind === 'stream' || (info.kind === 'thread' && info.training)
        ? [timeline.slices({ rank, track, from, to, width: PIECES }).then((s) => [s, info] as const)]
        : [],
    ),
  );
}
