import { mean, median, robustDeviation } from '../../base/statistics.js';
import { correlationOf } from './correlation.js';
import { wholeCycles } from './cycles.js';
import { driftsOf, NO_WAVES, type Waves, wavesOf } from './drift.js';
import { shortenPauses } from './pauses.js';
import type { Random } from './random.js';
import type { RunSteps } from './run-steps.js';

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
 * Other means that the run might have had. `hasOthers`: its side has more runs. Then a run of which only the mean is known is a
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

/** What is seen of the noise, weighed with what is usual. */
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
    const deviation = Math.log(sum / (drawn * length * middle));
    return deviation * widening * random.studentScale(blocks - 1);
  });
  return { within, variance: variance / middle ** 2, waves: wavesOf(steps, longRun) };
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
