import { groupBy } from '../../base/group-by.js';
import { mean } from '../../base/statistics.js';
import { type CompareOptions, conclude, DEFAULT_LEVEL, meanDraws, SEED } from './compare-step-times.js';
import { Random } from './random.js';
import { DRAWS, drawRuns } from './run-draws.js';
import { drawAgain, spreadOf } from './spread.js';
import type { RunSteps, StepComparison } from './step-comparison.js';

/** One turn of a job that runs in turns: as it is, A, as it is, B, … */
export interface Turn {
  /** What was changed. Null: nothing, the job as it is. */
  readonly variant: string | null;
  readonly steps: RunSteps;
}

/**
 * Each variant against the turns as it is right before and after it, so that a drifting machine cancels. How far turns as it
 * is differ from the next ones, and turns of one variant from each other, says how much of a difference is chance. A variant
 * with no unchanged turn next to it has no answer.
 */
export function compareTurns(
  turns: readonly Turn[],
  { level = DEFAULT_LEVEL }: Pick<CompareOptions, 'level'> = {},
): ReadonlyMap<string, StepComparison> {
  const random = new Random(SEED);
  const runs = drawRuns(
    turns.map((turn) => [turn.steps]),
    random,
  ).flat();
  const logs = runs.map((run) => Math.log(run.mean));
  const asItIs = turns.flatMap((turn, i) => (turn.variant === null ? [i] : []));
  if (asItIs.length === 0) return new Map();
  const trials = [...turns.entries()].flatMap(([at, { variant }]) =>
    variant === null ? [] : [{ variant, at, beside: besideOf(at, asItIs) }],
  );
  const gainOf = ({ at, beside }: Trial, of: (i: number) => number) => mean(beside.map(of)) - of(at);
  const byVariant = groupBy(trials, (trial) => trial.variant);
  // Two neighboring turns as it is differ by twice the variance of one; a trial and the mean of two by one and a half.
  let [squares, df] = [0, 0];
  for (let i = 1; i < asItIs.length; i++, df++)
    squares += (logs[asItIs[i]!]! - logs[asItIs[i - 1]!]!) ** 2 / 2;
  for (const group of byVariant.values()) {
    const gains = group.map((trial) => gainOf(trial, (i) => logs[i]!));
    squares += gains.reduce((sum, gain) => sum + (gain - mean(gains)) ** 2, 0) / 1.5;
    df += gains.length - 1;
  }
  const spread = spreadOf(squares, df, runs);
  const again = drawAgain(runs, spread, random, false);
  return new Map(
    [...byVariant].map(([variant, group]) => {
      const likely = mean(group.map((trial) => gainOf(trial, (i) => logs[i]!)));
      const drawn = group.map((trial) =>
        Float64Array.from({ length: DRAWS }, (_, d) => likely + gainOf(trial, (i) => again[i]![d]!)),
      );
      const left = [...new Set(group.flatMap((trial) => trial.beside))].map((i) => runs[i]!);
      const right = group.map((trial) => runs[trial.at]!);
      return [variant, conclude({ left, right, likely, draws: meanDraws(drawn), spread, level })] as const;
    }),
  );
}

interface Trial {
  readonly at: number;
  /** The turns as it is before and after it, or the one there is. */
  readonly beside: readonly number[];
}

function besideOf(at: number, asItIs: readonly number[]): number[] {
  const before = asItIs.findLast((i) => i < at);
  const after = asItIs.find((i) => i > at);
  return [before, after].filter((i) => i !== undefined);
}
