import { largest, mean, median, smallest } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { RankTable } from '../table/rank-table.js';
import { binomialTail, logChoose, roundConfidence } from './chance.js';
import type { LatenessSpread } from './spread.js';
import { LATE_SHARE, LATE_Z, MAX_CHANCE, MOST_STEPS } from './thresholds.js';

/** Ranks that are late together in most steps, on whatever hosts. */
export interface LateGroup {
  readonly ranks: readonly number[];
  readonly cost: Ns;
  readonly confidence: number;
  /** Indices of the steps in which each of them was later than all other ranks. */
  readonly steps: readonly number[];
}

/**
 * Ranks that are equally late hide each other: repairing one of them gains nothing, and where they are many the median
 * rank is one of them. The widest gap between neighbours in lateness separates them from the rest, up to half of all ranks.
 */
export function lateGroup(table: RankTable, { lateness, floor }: LatenessSpread): LateGroup | null {
  const usual = lateness.map((l) => median(l));
  const order = [...usual.keys()].sort((a, b) => usual[b]! - usual[a]!);
  const gapAfter = (count: number) => usual[order[count - 1]!]! - usual[order[count]!]!;
  let size = 1;
  for (let k = 2; k <= order.length / 2; k++) if (gapAfter(k) > gapAfter(size)) size = k;
  if (size < 2 || gapAfter(size) < Math.max(LATE_SHARE * table.step, LATE_Z * floor)) return null;
  const [late, others] = [order.slice(0, size), order.slice(size)];
  const steps = [...table.steps.keys()].filter(
    (s) => smallest(late.map((r) => lateness[r]![s]!)) > largest(others.map((r) => lateness[r]![s]!)),
  );
  const share = steps.length / table.steps.length;
  if (share < MOST_STEPS) return null;
  const sets = Math.exp(logChoose(order.length, size));
  const chance = sets * binomialTail(table.steps.length, steps.length, 1 / sets);
  if (chance > MAX_CHANCE) return null;
  const slowest = (ranks: readonly number[], s: number) => largest(ranks.map((r) => table.own[r]![s]!));
  return {
    ranks: late.map((r) => table.ranks[r]!).sort((a, b) => a - b),
    cost: ns(mean(table.steps.map((_, s) => Math.max(0, slowest(late, s) - slowest(others, s))))),
    confidence: roundConfidence((1 - chance) * (0.6 + 0.3 * share)),
    steps,
  };
}
