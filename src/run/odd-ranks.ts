import { largest, median } from '../base/statistics.js';
import { type SharesByClass, TIME_CLASSES } from '../facts/time-class.js';

interface RankTime {
  readonly rank: number;
  readonly time: SharesByClass;
  /** In any unit. Null: not known. */
  readonly step: number | null;
}

/** The `named` ranks, then those whose time divides least like that of the others; at most `limit` of them. */
export function oddRanks(
  ranks: readonly RankTime[],
  named: readonly number[],
  limit: number,
): ReadonlySet<number> {
  const usual = TIME_CLASSES.map((name) => median(ranks.map((r) => r.time[name])));
  const usualStep = median(ranks.map((r) => r.step ?? Number.NaN));
  const oddness = ({ time, step }: RankTime) =>
    largest(TIME_CLASSES.map((name, c) => Math.abs(time[name] - usual[c]!))) +
    Math.abs((step ?? usualStep) / usualStep - 1);
  const byOddness = ranks
    .map((r) => ({ rank: r.rank, oddness: oddness(r) }))
    .sort((a, b) => b.oddness - a.oddness || a.rank - b.rank);
  const odd = new Set<number>();
  for (const rank of [...named, ...byOddness.map((r) => r.rank)]) if (odd.size < limit) odd.add(rank);
  return odd;
}
