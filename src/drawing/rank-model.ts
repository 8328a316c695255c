import { TIME_CLASSES, totals } from '../facts/time-class.js';
import { paintOf } from './paint.js';
import { type RunClock, toOwn, toRun } from './run-clocks.js';
import type { SliceIndex } from './slice-index.js';
import type {
  Arrow,
  DrawnSlices,
  NamedTotal,
  PlacedSlice,
  RangeTotals,
  RankLine,
  SliceDetail,
  SliceId,
  SliceQuery,
} from './timeline.js';
import type { Track } from './track.js';

/** What only a whole trace knows about a slice. */
export interface SliceKnowledge {
  fields(track: number, row: number, index: number): SliceDetail['fields'];
  /** Slices that belong to it, with what they are. */
  related(track: number, row: number, index: number): readonly (readonly [label: string, slice: SliceId])[];
}

/** Launches in a range: from a host call to its work. */
export type Launches = (from: number, to: number, most: number) => readonly (readonly [SliceId, SliceId])[];

/** One rank, ready to be asked. It translates between the run's clock and its own. */
export class RankModel {
  constructor(
    readonly line: RankLine,
    readonly clock: RunClock,
    readonly tracks: readonly Track[],
    readonly knowledge: SliceKnowledge | null = null,
    readonly launches: Launches | null = null,
  ) {}

  /** Builds now what is otherwise built when first asked for. */
  prepare(): void {
    for (const track of this.tracks) for (const row of track.rows.keys()) track.index(row);
    this.launches?.(0, 0, 0);
  }

  slices({ track, from, to, width }: SliceQuery): DrawnSlices {
    const { clock } = this;
    const [own, end] = [toOwn(clock, from), toOwn(clock, to)];
    const drawn = this.#track(track).draw(own, end, (end - own) / Math.max(1, width));
    return {
      ...drawn,
      start: drawn.start.map((t) => toRun(clock, t)),
      end: drawn.end.map((t) => toRun(clock, t)),
    };
  }

  place({ track, row, index }: Omit<SliceId, 'rank'>): PlacedSlice {
    const slices = this.#track(track).rows[row];
    if (!slices || !(index >= 0 && index < slices.length)) throw new RangeError('no such slice');
    return {
      rank: this.line.rank,
      track,
      row,
      index,
      name: this.#track(track).text(row, index).slice(0, 4000),
      start: toRun(this.clock, slices.start(index)),
      end: toRun(this.clock, slices.end(index)),
    };
  }

  detail(id: SliceId): SliceDetail {
    const { track, row, index } = id;
    const count = this.tracks[track]?.rows[row]?.count(index) ?? 1;
    const merged = count > 1 ? [['Slices', `${count}, drawn as one`] as const] : [];
    return {
      ...this.place(id),
      fields: [...merged, ...(this.knowledge?.fields(track, row, index) ?? [])],
      related: (this.knowledge?.related(track, row, index) ?? []).map(([label, slice]) => ({
        ...this.place(slice),
        label,
      })),
    };
  }

  /** The first slices by time whose name passes. */
  search(test: (name: string) => boolean, limit: number): PlacedSlice[] {
    const found: { readonly id: Omit<SliceId, 'rank'>; readonly start: number }[] = [];
    this.tracks.forEach((track, t) => {
      if (track.info.kind === 'counter' || track.info.kind === 'classes') return;
      const passes = memo((name) => test(track.textOf(name)));
      track.rows.forEach((slices, row) => {
        for (let index = 0, n = 0; index < slices.length && n < limit; index++) {
          if (!passes(slices.name(index))) continue;
          n++;
          found.push({ id: { track: t, row, index }, start: slices.start(index) });
        }
      });
    });
    return found
      .sort((a, b) => a.start - b.start)
      .slice(0, limit)
      .map(({ id }) => this.place(id));
  }

  totals(from: number, to: number): RangeTotals {
    const { clock } = this;
    const [own, end] = [toOwn(clock, from), toOwn(clock, to)];
    const time = new Float64Array(TIME_CLASSES.length);
    const kernels = new Map<string, { time: number; count: number }>();
    let summarized = false;
    for (const track of this.tracks) {
      const isClasses = track.info.kind === 'classes';
      if (!isClasses && track.info.kind !== 'stream') continue;
      track.rows.forEach((slices, row) => {
        visit(track.index(row), own, end, (i, inside, whole) => {
          if (isClasses) {
            time[paintOf(slices.paint(i))]! += inside;
            return;
          }
          const name = track.text(row, i);
          const sum = kernels.get(name) ?? { time: 0, count: 0 };
          kernels.set(name, sum);
          const part = whole > 0 ? inside / whole : 1;
          sum.time += slices.busy(i) * part;
          sum.count += slices.count(i);
          summarized ||= slices.count(i) > 1;
        });
      });
    }
    const list: NamedTotal[] = [...kernels].map(([name, sum]) => ({ name: name.slice(0, 500), ...sum }));
    list.sort((a, b) => b.time - a.time);
    return {
      rank: this.line.rank,
      from,
      to,
      time: totals((c) => time[TIME_CLASSES.indexOf(c)]!),
      kernels: list.slice(0, MOST_KERNELS),
      moreKernels: Math.max(0, list.length - MOST_KERNELS),
      summarized,
    };
  }

  /** From calls in the range to their work. */
  launchArrows(from: number, to: number, most: number): Arrow[] {
    const found = this.launches?.(toOwn(this.clock, from), toOwn(this.clock, to), most) ?? [];
    return found.map(([call, work]) => ({
      kind: 'launch',
      from: { ...call, time: this.place(call).start },
      to: { ...work, time: this.place(work).start },
    }));
  }

  #track(track: number): Track {
    const found = this.tracks[track];
    if (!found) throw new RangeError('no such track');
    return found;
  }
}

const MOST_KERNELS = 30;

/** The slices in [from, to], with the time of each inside it and its whole time. */
function visit(
  index: SliceIndex,
  from: number,
  to: number,
  use: (i: number, inside: number, whole: number) => void,
): void {
  const { slices } = index;
  for (let i = index.firstAfter(from); i < slices.length && slices.start(i) < to; i++) {
    const [start, end] = [slices.start(i), slices.end(i)];
    use(i, Math.min(end, to) - Math.max(start, from), end - start);
  }
}

function memo(test: (name: number) => boolean): (name: number) => boolean {
  const known = new Map<number, boolean>();
  return (name) => {
    let answer = known.get(name);
    if (answer === undefined) {
      answer = test(name);
      known.set(name, answer);
    }
    return answer;
  };
}
