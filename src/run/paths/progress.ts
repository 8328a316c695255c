import { segmentBefore } from '../../facts/rank-timeline.js';
import { TIME_CLASSES } from '../../facts/time-class.js';
import type { PathRank } from './critical-path.js';

const CLASSES = TIME_CLASSES.length;
const COMPUTE = TIME_CLASSES.indexOf('compute');

/**
 * How far a rank is with its work at some time: the step, and the part of the step's computing that is done. Ranks that run
 * the same program come to the same collective with the same progress, however late.
 */
export class Progress {
  readonly #rank: PathRank;
  readonly #first: number;
  /** At the bounds of segments; never decreasing. */
  readonly #done: Float64Array;

  /** Over segments `first` to `last` of the timeline, which hold the steps of these places. */
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
    const i = segmentBefore(this.#rank.timeline, time);
    const place = i - this.#first;
    if (place < 0) return 0;
    if (place + 1 >= this.#done.length) return this.#done.at(-1) ?? 0;
    const [before, after] = [this.#done[place]!, this.#done[place + 1]!];
    return before + (after - before) * Math.min(1, (time - start[i]!) / (end[i]! - start[i]! || 1));
  }

  /** The first time at which it is that far. */
  timeOf(progress: number): number {
    const { start, end } = this.#rank.timeline;
    let low = 0;
    let high = this.#done.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#done[middle + 1]! < progress) low = middle + 1;
      else high = middle;
    }
    if (low >= this.#done.length - 1) return Number.POSITIVE_INFINITY;
    const [before, after] = [this.#done[low]!, this.#done[low + 1]!];
    const i = this.#first + low;
    const share = after > before ? (progress - before) / (after - before) : 0;
    return start[i]! + Math.min(1, Math.max(0, share)) * (end[i]! - start[i]!);
  }
}
