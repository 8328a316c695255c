import { largest, mean, median, robustDeviation } from '../../base/statistics.js';
import type { Random } from './random.js';
import type { RunSteps } from './step-comparison.js';

/** How many times the measurement is repeated in thought. The 2.5% quantile then rests on 100 of them. */
export const DRAWS = 4000;

/** One run: its mean step, and how else that mean might have come out. */
export interface RunDraws {
  /** Steps that were recorded. */
  readonly steps: number;
  /** ms, without rare pauses. */
  readonly mean: number;
  readonly pauses: number;
  readonly pausedMs: number;
  /** How much single steps vary, as a share; outliers do not count. */
  readonly noise: number;
  /** Deviations of log(mean): what other steps of this run might have given. */
  readonly within: Float64Array;
  /** Variance of `within`. */
  readonly variance: number;
  /** How far the run drifted, in log; 0 if it did not, or noise hides it. */
  readonly drift: number;
}

type RunAlone = Omit<RunDraws, 'drift'> & { readonly waves: Waves };

/** Fewer steps do not show how much steps vary. */
const FEW = 10;
/** How much steps of a job vary, as a share, and how many steps that guess counts as. In logs of real jobs it is 2 to 120%. */
const USUAL_NOISE = 0.15;
const GUESS_COUNTS = 2;

/** `sides`: the runs of a comparison. Whether they drifted is seen from all of them together. */
export function drawRuns(sides: readonly (readonly RunSteps[])[], random: Random): RunDraws[][] {
  const drawn = sides.map((runs) => runs.map((steps) => drawRun(steps, random, runs.length > 1)));
  const drifts = driftsOf(drawn.flat().map((run) => run.waves)).values();
  return drawn.map((runs) => runs.map((run) => ({ ...run, drift: drifts.next().value ?? 0 })));
}

/**
 * Other means that the run might have had. `hasOthers`: its side has more runs. Then a run with only a known mean is a
 * figure like any other: the runs show how much they differ.
 */
function drawRun(recorded: RunSteps, random: Random, hasOthers: boolean): RunAlone {
  const { steps: usual, pauses, pausedMs } = shortenPauses(recorded);
  const steps = wholeCycles(usual);
  const noise = robustDeviation(steps) / median(steps);
  const known = { steps: recorded.length, mean: mean(steps), pauses, pausedMs, noise };
  if (recorded.length === 1 && hasOthers)
    return { ...known, within: new Float64Array(DRAWS), variance: 0, waves: NO_WAVES };
  return { ...known, ...(steps.length < FEW ? drawFew(steps, random) : drawBlocks(steps, random)) };
}

type Drawn = Pick<RunAlone, 'within' | 'variance' | 'waves'>;

/** The observed noise, combined with what is usual. */
function drawFew(steps: RunSteps, random: Random): Drawn {
  const n = steps.length;
  const middle = mean(steps);
  const squares = steps.reduce((sum, s) => sum + (s / middle - 1) ** 2, 0);
  const df = GUESS_COUNTS + n - 1;
  const variance = (GUESS_COUNTS * USUAL_NOISE ** 2 + squares) / df / n;
  const error = Math.sqrt(variance);
  const within = Float64Array.from(
    { length: DRAWS },
    () => error * random.normal() * random.studentScale(df),
  );
  return { within, variance, waves: NO_WAVES };
}

/**
 * Circular block bootstrap of the mean. Blocks keep steps together that vary together. Where there are few blocks, the
 * draws spread further, as Student's t does, because few blocks do not show well how much they differ.
 */
function drawBlocks(steps: RunSteps, random: Random): Drawn {
  const n = steps.length;
  const middle = mean(steps);
  const { length, longRun } = correlationOf(steps);
  const blocks = n / length;
  const sums = runningSums(steps);
  const drawn = Math.round(blocks);
  const byBlocks = varianceOfBlockMeans(sums, n, length) / drawn;
  const variance = Math.max(byBlocks, longRun / n) * (blocks / (blocks - 1));
  const widening = byBlocks > 0 ? Math.sqrt(variance / byBlocks) : 1;
  const within = Float64Array.from({ length: DRAWS }, () => {
    let sum = 0;
    for (let i = 0; i < drawn; i++) {
      const from = random.below(n);
      sum += sums[from + length]! - sums[from]!;
    }
    // Differences of running sums can round to nothing if steps differ by many orders of magnitude.
    const deviation = Math.log(Math.max(LEAST_SHARE, sum / (drawn * length * middle)));
    return deviation * widening * random.studentScale(blocks - 1);
  });
  return { within, variance: variance / middle ** 2, waves: wavesOf(steps, longRun) };
}

const LEAST_SHARE = 1e-20;

/** Sums of the first i steps, with the run appended to itself so that blocks can go around its end. */
function runningSums(steps: RunSteps): Float64Array {
  const sums = new Float64Array(2 * steps.length + 1);
  for (let i = 0; i < 2 * steps.length; i++) sums[i + 1] = sums[i]! + steps[i % steps.length]!;
  return sums;
}

function varianceOfBlockMeans(sums: Float64Array, n: number, length: number): number {
  const middle = sums[n]! / n;
  let sum = 0;
  for (let i = 0; i < n; i++) sum += ((sums[i + length]! - sums[i]!) / length - middle) ** 2;
  return sum / n;
}

/** Longer runs are averaged to at most this many groups of steps: the answer is the same, and the time is bounded. */
const MAX_GROUPS = 2000;
/** A pattern repeats if steps a cycle apart are at least this alike. */
const ALIKE = 0.5;
/** Fewer cycles than this are no pattern. */
const MIN_CYCLES = 5;

/**
 * Means of whole cycles, where steps follow a pattern: with input from eight workers, every eighth step may wait. Part of a
 * cycle says nothing about the mean. Without a pattern, the steps as they are.
 */
function wholeCycles(steps: RunSteps): RunSteps {
  const period = periodOf(steps);
  return inGroups(steps, period * Math.ceil(steps.length / period / MAX_GROUPS));
}

/** 1: no pattern. */
function periodOf(steps: RunSteps): number {
  const covariance = autocovariance(steps, Math.min(MAX_GROUPS, Math.floor(steps.length / MIN_CYCLES)));
  let period = 1;
  for (let lag = 2; lag < covariance.length; lag++) if (covariance[lag]! > covariance[period]!) period = lag;
  return covariance[period]! > ALIKE * covariance[0]! ? period : 1;
}

function inGroups(steps: RunSteps, size: number): RunSteps {
  if (size <= 1) return steps;
  const groups = Math.floor(steps.length / size);
  return Array.from({ length: groups }, (_, g) => mean(steps.slice(g * size, (g + 1) * size)));
}

/** Slow waves that are looked for: half a wave over the run (a drift in one direction), a whole one, one and a half. */
const HALF_WAVES = [1, 2, 3];
/** Fewer steps show neither a wave nor autocorrelation. */
const MIN_STEPS = 10;
/** The noise of a short run is hardly known, so its waves must be larger. */
const uncertain = (steps: number) => 1 + 6 / steps;

/** Slow waves in the steps of a run. */
interface Waves {
  /** Squared heights, in standard errors: 1 on average where there is only noise. */
  readonly squares: readonly number[];
  /** One standard error of a height, as a share of the mean step. */
  readonly error: number;
}

export const NO_WAVES: Waves = { squares: [], error: 0 };

/** `longRun`: n times the variance of the mean of n steps. */
export function wavesOf(steps: ArrayLike<number>, longRun: number): Waves {
  const n = steps.length;
  if (n < MIN_STEPS || !(longRun > 0)) return NO_WAVES;
  const middle = mean(steps);
  const error = Math.sqrt((2 * longRun) / n) * uncertain(n);
  const squares = HALF_WAVES.map((halves) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += (steps[i]! - middle) * Math.cos((halves * Math.PI * (i + 0.5)) / n);
    return ((2 * sum) / n / error) ** 2;
  });
  return { squares, error: error / middle };
}

/** Taken off the square of each wave: most of what noise explains. */
const OF_NOISE = 4.5;

/**
 * How far each run drifted, from its lowest to its highest, as a share of its mean: a machine that warms up, a neighbor that
 * comes or goes. What drifts within a run also differs between runs. Noise alone lifts one of six waves above the bound in every
 * eighth comparison, and what that adds to the interval hides a real 5%. So waves count only if those of all runs together,
 * or the largest by itself, are more than noise.
 */
export function driftsOf(runs: readonly Waves[]): number[] {
  const squares = runs.flatMap((run) => run.squares);
  const sum = squares.reduce((all, square) => all + square, 0);
  const isNoise = sum < usualSum(squares.length) && squares.every((s) => s < usualLargest(squares.length));
  return runs.map((run) => {
    const excess = run.squares.reduce((all, square) => all + Math.max(0, square - OF_NOISE), 0);
    return isNoise ? 0 : 2 * run.error * Math.sqrt(excess);
  });
}

/** The 90% quantile of χ² (Wilson and Hilferty). With 95%, more is found, but a drift is overlooked more often: decision 0029. */
const usualSum = (count: number) => count * (1 - 2 / (9 * count) + 1.28 * Math.sqrt(2 / (9 * count))) ** 3;

/** Of six squares, noise lifts the largest above 7.5 in 4% of all comparisons; of more of them, above this. */
const usualLargest = (count: number) => 7.5 + 2 * Math.log(count / 6);

/** Autocorrelation must be insignificant at this many lags in a row before it counts as gone (Politis and White 2004). */
const QUIET_LAGS = 5;
/** Fewer blocks than this do not show how blocks differ. */
const MIN_BLOCKS = 4;

/** How steps vary together. */
export interface Correlation {
  /** Block length of a bootstrap: how many steps in a row belong together. */
  readonly length: number;
  /** n times the variance of the mean of n steps. For independent steps it is their variance. */
  readonly longRun: number;
}

/**
 * Block length from the autocorrelation (Politis and White 2004, with Patton's correction of 2009, for circular blocks) and
 * the variance of the mean through a flat-top window, which blocks alone understate. Blocks are at least √n long: the noise of
 * a host wanders too slowly for the autocorrelation of a short log to show it. With it, false alarms between
 * halves of 141 real logs fell from 14 to 5; 5% among 10% noise were found in 89% of 200 steps instead of 92%.
 */
export function correlationOf(steps: ArrayLike<number>): Correlation {
  const n = steps.length;
  const longest = Math.max(1, Math.floor(n / MIN_BLOCKS));
  const covariance = autocovariance(steps, n < MIN_STEPS ? 0 : Math.min(n - 1, 2 * longest + QUIET_LAGS));
  const variance = covariance[0]!;
  const last = lastCorrelatedLag(covariance, 2 * Math.sqrt(Math.log10(n) / n) * variance);
  const width = Math.min(covariance.length - 1, 2 * last);
  let [longRun, slope, weights] = [variance, 0, 1];
  for (let lag = 1; lag <= width; lag++) {
    const weight = lag <= width / 2 ? 1 : 2 * (1 - lag / width);
    longRun += 2 * weight * covariance[lag]!;
    slope += 2 * weight * lag * covariance[lag]!;
    weights += 2 * weight;
  }
  // Deviations are taken from the mean of the same steps, which takes 1/n of the long-run variance off each covariance.
  longRun /= Math.max(1 / MIN_BLOCKS, 1 - weights / n);
  const least = Math.min(longest, Math.max(1, Math.round(Math.sqrt(n))));
  if (last === 0 || !(longRun > 0))
    return { length: Math.min(longest, Math.max(least, last + 1)), longRun: Math.max(0, longRun) };
  const best = ((2 * slope ** 2) / ((4 / 3) * longRun ** 2)) ** (1 / 3) * n ** (1 / 3);
  return { length: Math.min(longest, Math.max(least, Math.ceil(best))), longRun };
}

/** The last lag before a quiet stretch; 0 if the steps look independent. */
function lastCorrelatedLag(covariance: ArrayLike<number>, significant: number): number {
  let quiet = 0;
  for (let lag = 1; lag < covariance.length; lag++) {
    quiet = Math.abs(covariance[lag]!) < significant ? quiet + 1 : 0;
    if (quiet === QUIET_LAGS) return lag - QUIET_LAGS;
  }
  return covariance.length - 1 - quiet;
}

/** At lags 0 to `lags`. */
function autocovariance(steps: ArrayLike<number>, lags: number): Float64Array {
  const n = steps.length;
  const middle = mean(steps);
  return Float64Array.from({ length: lags + 1 }, (_, lag) => {
    let sum = 0;
    for (let i = 0; i + lag < n; i++) sum += (steps[i]! - middle) * (steps[i + lag]! - middle);
    return sum / n;
  });
}

/** A pause takes this many times the usual step, and is this many deviations off. */
const FAR = 1.5;
const DEVIATIONS = 6;
/**
 * At most this share of a run's steps are pauses; with more, long steps belong to the job. One among fewer than 50 steps may be
 * either: input from eight workers may stop every ninth step.
 */
const RARE = 0.02;
/** With fewer steps there is no usual step. */
const USUAL_STEPS = 5;

export interface WithoutPauses {
  readonly steps: RunSteps;
  readonly pauses: number;
  /** Mean time per step that the pauses took beyond the longest other step. */
  readonly pausedMs: number;
}

/**
 * Shortens rare pauses (a stall of the host) to the longest other step. One of them among 200 steps would hide a difference of 5%.
 * Long steps that come often, or may do so, stay: input in bursts is what a job costs.
 */
export function shortenPauses(steps: RunSteps): WithoutPauses {
  const unchanged = { steps, pauses: 0, pausedMs: 0 };
  if (steps.length < USUAL_STEPS) return unchanged;
  const usual = median(steps);
  const limit = Math.max(FAR * usual, usual + DEVIATIONS * robustDeviation(steps));
  const pauses = steps.filter((s) => s > limit).length;
  if (pauses === 0 || pauses > RARE * steps.length) return unchanged;
  const longest = largest(steps.filter((s) => s <= limit));
  const paused = steps.reduce((sum, s) => sum + Math.max(0, s - longest), 0);
  return { steps: steps.map((s) => Math.min(s, longest)), pauses, pausedMs: paused / steps.length };
}
