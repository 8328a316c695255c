import { type RankTimeline, segmentBefore, touches } from '../../facts/rank-timeline.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, totals } from '../../facts/time-class.js';
import type { Meetings } from './meetings.js';

/** What set the run's pace, from its end back to its beginning. ns a step. */
export interface CriticalPath {
  readonly time: TimeByClass;
  /** Whose time it was; most first, ranks that are not on it left out. */
  readonly ranks: readonly { readonly rank: number; readonly time: TimeByClass; readonly ns: number }[];
  /** From one rank to another, a step. */
  readonly hops: number;
}

export interface PathRank {
  readonly rank: number;
  /** Place in the matching. */
  readonly place: number;
  readonly timeline: RankTimeline;
  /** Where each common step is in the timeline's steps. */
  readonly steps: readonly number[];
}

const CLASSES = TIME_CLASSES.length;
const TRANSFER = TIME_CLASSES.indexOf('comms_transfer');
const IN_HOST = TIME_CLASSES.indexOf('idle_comms');

/**
 * Walks back from the end of the common steps: on a rank through its own time, by class, until communication alone goes on.
 * The collective that let the rank go on there was over a transfer after its last member came: the transfer is on the path,
 * and the path goes on with that member, at the time it came (on its own clock; no two clocks are compared). `first`: for
 * each run of steps the place in `ranks` to begin with. Null without steps.
 */
export function walkBack(
  ranks: readonly PathRank[],
  meetings: Meetings,
  first: (lastStep: number) => number,
): CriticalPath | null {
  const count = ranks[0]?.steps.length ?? 0;
  if (count === 0) return null;
  const walk = new Walk(ranks, meetings);
  for (const [from, to] of runsOf(ranks)) walk.run(from, to, first(to));
  return walk.finish(count);
}

/** Runs of common steps that follow each other on all ranks: [first, last]. */
export function runsOf(ranks: readonly PathRank[]): [number, number][] {
  const runs: [number, number][] = [];
  const count = ranks[0]!.steps.length;
  for (let s = 0; s < count; s++) {
    const follows =
      s > 0 &&
      ranks.every(({ timeline: { stepFrom, stepTo }, steps }) => {
        const [before, own] = [steps[s - 1]!, steps[s]!];
        return own === before + 1 && touches(stepTo[before]!, stepFrom[own]!);
      });
    if (follows) runs.at(-1)![1] = s;
    else runs.push([s, s]);
  }
  return runs;
}

class Walk {
  readonly #sums: Float64Array[];
  readonly #placeOf: ReadonlyMap<number, number>;
  #hops = 0;

  constructor(
    readonly ranks: readonly PathRank[],
    readonly meetings: Meetings,
  ) {
    this.#sums = ranks.map(() => new Float64Array(CLASSES));
    this.#placeOf = new Map(ranks.map((r, i) => [r.place, i]));
  }

  run(fromStep: number, toStep: number, first: number): void {
    const begin = this.ranks.map((r) => r.timeline.stepFrom[r.steps[fromStep]!]!);
    // How far back each rank has been walked: whatever was matched wrongly, nothing counts twice.
    const reached = this.ranks.map((r) => r.timeline.stepTo[r.steps[toStep]!]!);
    let r = first;
    let left =
      this.ranks.reduce((n, { timeline }) => n + timeline.length, 0) + 2 * this.meetings.matched.length;
    while (reached[r]! > begin[r]! && left-- > 0) {
      const { timeline, place } = this.ranks[r]!;
      const t = reached[r]!;
      const i = segmentBefore(timeline, t);
      if (i < 0) return;
      const from = Math.max(begin[r]!, timeline.start[i]!);
      const entry = timeline.exposed[i] === 1 ? this.meetings.releasing(place, from, t) : -1;
      if (entry < 0) {
        this.#add(r, i, from, t);
        reached[r] = from;
        continue;
      }
      const { start, end } = this.meetings.collectives[place]!;
      const awaited = this.meetings.awaited({ place, entry });
      const to = awaited ? (this.#placeOf.get(awaited.place) ?? -1) : -1;
      if (to < 0) {
        // It came last itself, or whom it waited for was not captured. Always some way back.
        const back = Math.min(t - 1, Math.max(from, start[entry]!));
        this.#add(r, i, Math.max(from, back), t);
        reached[r] = back;
        continue;
      }
      if (end[entry]! < t) this.#add(r, i, end[entry]!, t);
      const waited = this.meetings.waits.waitOf[place]![entry]!;
      this.#addTransfer(r, i, Math.max(0, Math.min(t, end[entry]!) - start[entry]! - waited));
      reached[r] = Math.max(from, start[entry]!);
      const arrived = this.meetings.collectives[awaited!.place]!.start[awaited!.entry]!;
      reached[to] = Math.min(reached[to]!, arrived);
      r = to;
      this.#hops++;
    }
  }

  /** A part of a segment, in proportion. */
  #add(r: number, i: number, from: number, to: number): void {
    const { start, end, classes } = this.ranks[r]!.timeline;
    const share = (to - from) / (end[i]! - start[i]! || 1);
    const sums = this.#sums[r]!;
    for (let c = 0; c < CLASSES; c++) sums[c]! += classes[i * CLASSES + c]! * share;
  }

  /** On the device or in the host, as that of the segment. */
  #addTransfer(r: number, i: number, ns: number): void {
    const { classes } = this.ranks[r]!.timeline;
    const [device, host] = [classes[i * CLASSES + TRANSFER]!, classes[i * CLASSES + IN_HOST]!];
    const share = device + host > 0 ? device / (device + host) : 1;
    this.#sums[r]![TRANSFER]! += ns * share;
    this.#sums[r]![IN_HOST]! += ns * (1 - share);
  }

  finish(steps: number): CriticalPath {
    const of = (sums: Float64Array) => totals((c) => sums[TIME_CLASSES.indexOf(c)]! / steps);
    const all = new Float64Array(CLASSES);
    for (const sums of this.#sums) for (let c = 0; c < CLASSES; c++) all[c]! += sums[c]!;
    const ranks = this.ranks.map(({ rank }, r) => {
      const time = of(this.#sums[r]!);
      return { rank, time, ns: sumOfClasses(time) };
    });
    return {
      time: of(all),
      ranks: ranks.filter((r) => r.ns > 0).sort((a, b) => b.ns - a.ns),
      hops: this.#hops / steps,
    };
  }
}
