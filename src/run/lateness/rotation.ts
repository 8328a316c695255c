import { groupBy } from '../../base/group-by.js';
import { largest, mean, smallest } from '../../base/statistics.js';
import { ns } from '../../base/units.js';
import type { RankTable } from '../table/rank-table.js';
import { causeOf } from './cause.js';
import type { LateRanks } from './late-ranks.js';
import type { LatenessSpread } from './spread.js';
import { LATE_SHARE, LATE_Z, MOST_STEPS } from './thresholds.js';

/**
 * Share of the steps in which some rank must be late. Healthy ranks on shared cores show that in 22 to 67 % of their steps
 * (five runs of the zoo), ranks that take turns in 91 %.
 */
const NEARLY_ALL_STEPS = 0.75;
/** Where this share of the step is lost, most steps are enough: ranks that took turns showed it in 6 of 9 traced steps. */
const LARGE_LOSS = 0.25;
/**
 * Least entropy of the losses by rank, as a share of the largest possible: half of eight ranks, or two of three, lose equally. In a
 * few steps only so many of a thousand ranks can take turns.
 */
const LEAST_EVENNESS = 0.6;
const LEAST_STEPS = 4;
const LEAST_RANKS = 3;

/** Some rank is late in nearly every step, but not always the same: uneven data or experts, not a bad rank. */
export function rotation(table: RankTable, { lateness, inSteps }: LatenessSpread): LateRanks | null {
  if (table.steps.length < LEAST_STEPS || table.ranks.length < LEAST_RANKS) return null;
  const steps = table.steps.map((_, step) => {
    const inStep = lateness.map((l) => l[step]!);
    const worst = largest(inStep);
    const last = inStep.indexOf(worst);
    const others = inStep.filter((_, r) => r !== last);
    const next = largest(others);
    // One rank is late and the others arrive together. On shared cores they arrive early and late by as much.
    const isAlone = worst - next > next - smallest(others);
    return { step, last, loss: worst, isLate: isAlone && worst / inSteps[step]!.deviation > LATE_Z };
  });
  const loss = mean(steps.map((s) => s.loss));
  const late = steps.filter((s) => s.isLate);
  const leastShare = loss >= LARGE_LOSS * table.step ? MOST_STEPS : NEARLY_ALL_STEPS;
  if (loss < LATE_SHARE * table.step || late.length < leastShare * table.steps.length) return null;
  const lossOf = (r: number) => late.filter((s) => s.last === r).reduce((sum, s) => sum + s.loss, 0);
  const most = Math.min(table.ranks.length, table.steps.length);
  if (
    evenness(
      table.ranks.map((_, r) => lossOf(r)),
      most,
    ) < LEAST_EVENNESS
  )
    return null;
  const causes = groupBy(late, (s) => causeOf(table, [table.ranks[s.last]!], [s.step]));
  return {
    ranks: [],
    pattern: 'rotating',
    cause: [...causes].reduce((a, b) => (b[1].length > a[1].length ? b : a))[0],
    cost: ns(loss),
    confidence: Math.min(0.9, 0.5 + 0.05 * late.length),
    location: null,
    steps: table.steps,
  };
}

/** Entropy as a share of the largest possible. 0: one has all; 1: `most` of them have the same. */
function evenness(amounts: readonly number[], most: number): number {
  const sum = amounts.reduce((a, b) => a + b, 0);
  const shares = amounts.filter((a) => a > 0).map((a) => a / sum);
  return shares.reduce((entropy, share) => entropy - share * Math.log(share), 0) / Math.log(most);
}
