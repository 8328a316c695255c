import { median, robustDeviation } from '../../base/statistics.js';
import { ChangeTest } from './change-test.js';
import { Noise } from './noise.js';

/** Settings of a series. */
export interface LevelOptions {
  /** Probability of any false alarm in the whole life of the series. */
  readonly falseAlarm: number;
  /** A smaller change is none, in units of the series: machines drift by as much with the weather. */
  readonly least: number;
}

/** The level of a series has changed. */
export interface LevelChange {
  readonly direction: 'up' | 'down';
  readonly before: number;
  readonly after: number;
  /** How many values ago it began, this one included. */
  readonly age: number;
  /** The level is back at what was usual before the change that was reported last. */
  readonly isReturn: boolean;
}

/** Values from which the first level is learned, and by how many it moves on while the job is not steady yet. */
const LEARN = 16;
/** The first values are never usual: compiling, filling caches. */
const WARM_UP = 3;
const MOVE_ON = 4;
/** A job that is not steady after so many values never will be: its noise counts then. */
const MOST_WARM_UP = 160;
/** The smallest deviation that is believed: a series without noise would make anything a change. */
const LEAST_DEVIATION = 0.003;
/** Values wait here before they count as usual, so that a change that begins slowly does not become usual. */
const HELD_BACK = 24;
/** If the median of those is farther from the level than so many standard errors, they wait longer. */
const SHIFTED = 2.5;
/** A level that wanders for longer than this is usual. */
const MOST_HELD = 256;
/** The level must be known this well: two standard errors are added to what counts as a change. */
const ERRORS = 2;
/** The halves of what the first level is learned from must agree. */
const STEADY = 3;
/** Of the values since a change, the last ones must still show it. */
const LATEST = 4;
const KEPT = 64;

/** Follows one series in constant memory: learns its level, then tests every value for a lasting change of it. */
export class LevelWatch {
  #learning: number[] = [];
  #seen = 0;
  #noise: Noise | null = null;
  #up = new ChangeTest();
  #down = new ChangeTest();
  readonly #latest: number[] = [];
  #held: number[] = [];
  /** Each change that was found leaves less for false alarms: α/2, α/6, α/12, … */
  #changes = 0;
  /** What was usual before the last change, until the level returns to it. */
  #usual: { readonly mean: number; readonly error: number } | null = null;

  constructor(readonly options: LevelOptions) {}

  get isLearning(): boolean {
    return this.#noise === null;
  }
  /** NaN while it is being learned. */
  get level(): number {
    return this.#noise?.mean ?? Number.NaN;
  }
  get deviation(): number {
    return this.#noise?.deviation ?? Number.NaN;
  }
  /** The least change that counts now. */
  get margin(): number {
    return this.#noise ? this.options.least + ERRORS * this.#noise.error : Number.NaN;
  }

  /** A value is far above the level: a pause, not a level. */
  isFar(value: number, deviations: number, least: number): boolean {
    return this.#noise !== null && value > this.level + Math.max(least, deviations * this.deviation);
  }

  add(value: number): LevelChange | null {
    this.#latest.push(value);
    if (this.#latest.length > KEPT) this.#latest.shift();
    if (this.#noise === null) {
      this.#learn(value);
      return null;
    }
    return this.#test(value, this.#noise);
  }

  /** Another process goes on: its level is learned anew. What was reported stays reported. */
  restart(): void {
    this.#learning = [];
    this.#seen = 0;
    this.#noise = null;
    this.#usual = null;
    this.#latest.length = 0;
  }

  #learn(value: number): void {
    if (++this.#seen <= WARM_UP) return;
    this.#learning.push(value);
    if (this.#learning.length < LEARN) return;
    if (this.#seen < MOST_WARM_UP && !isSteady(this.#learning, this.options.least)) {
      this.#learning.splice(0, MOVE_ON);
      return;
    }
    this.#begin(this.#learning);
    this.#learning = [];
  }

  #begin(values: readonly number[]): void {
    this.#noise = new Noise(median(values), robustDeviation(values), LEAST_DEVIATION);
    for (const value of values) this.#noise.add(value);
    this.#up = new ChangeTest();
    this.#down = new ChangeTest();
    this.#held = [];
  }

  #test(value: number, noise: Noise): LevelChange | null {
    const spread = noise.believed;
    const margin = this.margin;
    this.#up.add((value - noise.mean - margin) / spread);
    this.#down.add((noise.mean - value - margin) / spread);
    this.#hold(value, noise);
    // Half of the probability for each direction; 1/2 + 1/6 + 1/12 + … = 1.
    const n = this.#changes + 1;
    const limit = Math.log((2 * n * (n + 1)) / this.options.falseAlarm);
    for (const [direction, test] of [
      ['up', this.#up],
      ['down', this.#down],
    ] as const) {
      if (test.evidence < limit) continue;
      const change = this.#changed(direction, test.age, noise, margin);
      if (change) return change;
    }
    return null;
  }

  /** Null: what it was is over already. */
  #changed(direction: 'up' | 'down', began: number, noise: Noise, margin: number): LevelChange | null {
    const { since, age } = beginningOf(this.#latest.slice(-Math.min(began, KEPT)), began, noise.mean);
    const sign = direction === 'up' ? 1 : -1;
    const beyond = (values: readonly number[]) => sign * (median(values) - noise.mean) > margin;
    if (!beyond(since) || !beyond(since.slice(-LATEST))) return null;
    const [before, after] = [noise.mean, median(since)];
    const usual = this.#usual;
    const isReturn =
      usual !== null && sign * (after - usual.mean) >= 0
        ? Math.abs(after - usual.mean) <= Math.max(2 * this.options.least, STEADY * usual.error)
        : usual !== null && Math.abs(after - usual.mean) <= Math.abs(before - usual.mean) / 2;
    this.#usual = isReturn ? null : (usual ?? { mean: noise.mean, error: noise.error });
    this.#changes++;
    // What is usual now is learned from what came since.
    if (since.length >= LEARN) this.#begin(since);
    else {
      this.#noise = null;
      this.#learning = [...since];
      this.#seen = since.length;
    }
    return { direction, before, after, age, isReturn };
  }

  /** What may be the beginning of a change waits until it is one, or is over. */
  #hold(value: number, noise: Noise): void {
    this.#held.push(value);
    if (this.#held.length <= HELD_BACK || this.#held.length % LATEST !== 0) return;
    const shift = Math.abs(median(this.#held.slice(-HELD_BACK)) - noise.mean);
    const byChance = (SHIFTED * noise.deviation) / Math.sqrt(HELD_BACK);
    const isShifted = shift > Math.max(this.margin, byChance);
    const released = isShifted ? Math.max(0, this.#held.length - MOST_HELD) : this.#held.length - HELD_BACK;
    for (const usual of this.#held.splice(0, released)) noise.add(usual);
  }
}

/** The two parts must fit so many times better than one level since the beginning of the bets. */
const FITS_BETTER = 0.7;

/**
 * When the change began: bets may also have won a little before it, on a level that drifted. So of the values since then, the first
 * ones may still be at the level of before.
 */
function beginningOf(since: readonly number[], began: number, before: number) {
  const cost = (values: readonly number[], level: number) =>
    values.reduce((sum, v) => sum + Math.abs(v - level), 0);
  let best = { cost: FITS_BETTER * cost(since, median(since)), from: 0 };
  for (let from = 1; from <= since.length - LATEST; from++) {
    const late = since.slice(from);
    const split = cost(since.slice(0, from), before) + cost(late, median(late));
    if (split < best.cost) best = { cost: split, from };
  }
  return { since: since.slice(best.from), age: best.from === 0 ? began : since.length - best.from };
}

function isSteady(values: readonly number[], least: number): boolean {
  const half = values.length >> 1;
  const [first, second] = [values.slice(0, half), values.slice(half)];
  const deviation = Math.max(robustDeviation(first), robustDeviation(second), LEAST_DEVIATION);
  // The standard error of the difference of two medians of so many values.
  const error = 1.2533 * deviation * Math.sqrt(2 / half);
  return Math.abs(median(first) - median(second)) <= least + STEADY * error;
}
