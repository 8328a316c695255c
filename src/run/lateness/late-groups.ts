import { largest, mean, median, smallest } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { RankTable } from '../table/own-time.js';
import {
  BY_LUCK,
  binomialTail,
  type Differences,
  logChoose,
  MOSTLY,
  STANDS_OUT,
  WORTH_NAMING,
} from './late-patterns.js';

/** Ranks that are late together in most steps, wherever they are. */
export interface LateGroup {
  readonly ranks: readonly number[];
  readonly cost: Ns;
  readonly confidence: number;
  /** Places of the steps in which each of them was later than all the others. */
  readonly steps: readonly number[];
}

/**
 * Two ranks that are late alike hide each other: mending one of them gains nothing, and where they are many the median
 * rank is one of them. What tells them is the gap between them and the rest; at most half of all can be the late ones.
 */
export function lateGroup(table: RankTable, { lateness, floor }: Differences): LateGroup | null {
  const usual = lateness.map((l) => median(l));
  const order = usual.map((_, r) => r).sort((a, b) => usual[b]! - usual[a]!);
  const gapAfter = (count: number) => usual[order[count - 1]!]! - usual[order[count]!]!;
  let size = 1;
  for (let k = 2; k <= order.length / 2; k++) if (gapAfter(k) > gapAfter(size)) size = k;
  if (size < 2 || gapAfter(size) < Math.max(WORTH_NAMING * table.step, STANDS_OUT * floor)) return null;
  const [late, others] = [order.slice(0, size), order.slice(size)];
  const steps = table.steps.flatMap((_, s) => {
    const first = smallest(late.map((r) => lateness[r]![s]!));
    return first > largest(others.map((r) => lateness[r]![s]!)) ? [s] : [];
  });
  if (steps.length < MOSTLY * table.steps.length) return null;
  const sets = Math.exp(logChoose(order.length, size));
  const luck = sets * binomialTail(table.steps.length, steps.length, 1 / sets);
  if (luck > BY_LUCK) return null;
  const saved = table.own[0]!.map((_, s) => {
    const own = (places: readonly number[]) => largest(places.map((r) => table.own[r]![s]!));
    return Math.max(0, own(late) - own(others));
  });
  const share = steps.length / table.steps.length;
  return {
    ...{ steps, cost: ns(mean([...saved])) },
    ranks: late.map((r) => table.ranks[r]!).sort((a, b) => a - b),
    confidence: Math.round(100 * (1 - luck) * (0.6 + 0.3 * share)) / 100,
  };
}
