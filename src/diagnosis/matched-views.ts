import type { RankCollectives } from '../facts/rank-collectives.js';
import { type RunClock, runClock } from '../run/collectives/clocks.js';
import type { Comparison } from '../run/compare.js';
import type { Observed } from './observe.js';
import type { RankView } from './ranks/rank-view.js';

/** The views of a run with the comparison of just these. */
export interface MatchedViews {
  /** Ranks with collectives, in the order of the comparison. */
  readonly meeting: readonly RankView[];
  /** The comparison whose entries are those of the views. Null: ranks were not compared from these. */
  readonly comparison: Comparison | null;
  clockOf(rank: number): RunClock;
}

export function matchedViews({ views, comparison }: Pick<Observed, 'views' | 'comparison'>): MatchedViews {
  const meeting = views.filter((v) => v.facts.collectives !== null);
  // Ranks may have been compared from their logs, although they have traces.
  const isOfViews = ({ matched, waits }: Comparison) =>
    matched.ranks.length === meeting.length &&
    meeting.every(({ facts }, i) => waits.waitOf[i]!.length === facts.collectives!.length);
  const own = [comparison, comparison?.traced ?? null].find((c) => c && isOfViews(c)) ?? null;
  // Of several windows of a rank the first counts.
  const collectives = new Map<number, RankCollectives>(
    meeting.toReversed().map((v) => [v.rank, v.facts.collectives!]),
  );
  return {
    meeting,
    comparison: own,
    clockOf: (rank) => runClock(rank, own?.clocks ?? null, (r) => collectives.get(r) ?? null),
  };
}
