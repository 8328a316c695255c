import { partitionPoint } from '../../base/search.js';
import { segmentBefore } from '../../facts/rank-timeline.js';
import { TIME_CLASSES } from '../../facts/time-class.js';
import type { PathRank } from './critical-path.js';

const CLASSES = TIME_CLASSES.length;
const COMPUTE = TIME_CLASSES.indexOf('compute');

/**
 * How far a rank is with its work: the step index plus the part of that step's computing that is done. Ranks that run the
 * same program reach the same collective with the same progress, however late they are.
 */
export class Progress {
  readonly #rank: PathRank;
  readonly #first: number;
  /** At the bounds of segments; never decreasing. */
  readonly #done: Float64Array;

  /** Over segments `first` to `last` of the timeline, which hold common steps `fromStep` to `toStep`. */
  constructor(rank: PathRank, first: number, last: number, [fromStep, toStep]: readonly [number, number]) {
    const { timeline, steps } = rank;
    this.#rank = rank;
    this.#first = first;
    const compute = (i: number) => timeline.classes[i * CLASSES + COMPUTE]!;
    this.#done = new Float64Array(Math.max(0, last - first + 1) + 1);
    let i = first;
    for (let s = fromStep; s <= toStep; s++) {
      const to = timeline.stepTo[steps[s]!]!;
      const begin = i;
      let all = 0;
      for (; i <= last && (s === toStep || timeline.start[i]! < to); i++) all += compute(i);
      let sum = 0;
      for (let j = begin; j < i; j++) {
        sum += compute(j);
        this.#done[j - first + 1] = s + (all > 0 ? sum / all : 0);
      }
    }
  }

  at(time: number): number {
    const { start, end } = this.#rank.timeline;
    const segment = segmentBefore(this.#rank.timeline, time);
    const i = segment - this.#first;
    if (i < 0) return 0;
    if (i + 1 >= this.#done.length) return this.#done.at(-1) ?? 0;
    const [before, after] = [this.#done[i]!, this.#done[i + 1]!];
    const share = (time - start[segment]!) / (end[segment]! - start[segment]! || 1);
    return before + (after - before) * Math.min(1, share);
  }

  /** The first time with this progress; Infinity: never. */
  timeOf(progress: number): number {
    const { start, end } = this.#rank.timeline;
    const segments = this.#done.length - 1;
    const i = partitionPoint(segments, (k) => this.#done[k + 1]! < progress);
    if (i >= segments) return Number.POSITIVE_INFINITY;
    const [before, after] = [this.#done[i]!, this.#done[i + 1]!];
    const segment = this.#first + i;
    const share = after > before ? (progress - before) / (after - before) : 0;
    return start[segment]! + Math.min(1, Math.max(0, share)) * (end[segment]! - start[segment]!);
  }
}
