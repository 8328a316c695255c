import { mean } from '../../base/statistics.js';
import { correlationOf } from './correlation.js';
import { wholeCycles } from './cycles.js';
import { driftOf } from './drift.js';
import { shortenPauses } from './pauses.js';
import type { Random } from './random.js';
import type { RunSteps } from './run-steps.js';

/** How many times the measurement is repeated in thought. The 2.5 % quantile then rests on 100 of them. */
export const DRAWS = 4000;

/** One run: its mean step, and how else that mean might have come out. */
export interface RunDraws {
  /** Steps that were recorded. */
  readonly steps: number;
  /** ms, without rare pauses. */
  readonly mean: number;
  readonly pauses: number;
  readonly pausedMs: number;
  /** Deviations of log(mean): what other steps of this run might have given. All 0 for a run of one step. */
  readonly within: Float64Array;
  /** Variance of `within`. NaN: a single step says nothing about it. */
  readonly variance: number;
  /** How far the run drifted from its start to its end, in log; 0 if it did not, or noise hides it. */
  readonly drift: number;
}

/**
 * Circular block bootstrap of the mean. Blocks keep steps together that vary together. Where there are few blocks, the
 * draws spread further, as Student's t does, because few blocks do not show well how much they differ.
 */
export function drawRun(recorded: RunSteps, random: Random): RunDraws {
  const { steps: usual, pauses, pausedMs } = shortenPauses(recorded);
  const steps = wholeCycles(usual);
  const n = steps.length;
  const middle = mean(steps);
  const base = { steps: recorded.length, mean: middle, pauses, pausedMs };
  if (n < 2) return { ...base, within: new Float64Array(DRAWS), variance: Number.NaN, drift: 0 };
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
    const deviation = Math.log(sum / (drawn * length * middle));
    return deviation * widening * random.studentScale(blocks - 1);
  });
  return { ...base, within, variance: variance / middle ** 2, drift: driftOf(steps, longRun) };
}

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
