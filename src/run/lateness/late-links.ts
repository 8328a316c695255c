import { mean, median } from '../../base/statistics.js';
import { ns } from '../../base/units.js';
import type { RankTable } from '../table/rank-table.js';
import type { LateRanks } from './late-ranks.js';
import { LATE_SHARE } from './thresholds.js';

/** Ranks that share a slow link, and what the run would save without it, a step. */
export interface SlowMembers {
  readonly ranks: readonly number[];
  readonly saving: number;
}

/** Of a slow link's time, the part that ranks elsewhere must be seen to wait for. Our choice: most of it. */
const WAITED_FOR = 0.5;
/** Transfers of one group were compared with those of its siblings, not explained. */
const CONFIDENCE = 0.75;

/**
 * Ranks that come late to the others because the transfers within their own group are slow. Their own time does not show it:
 * no communication counts there. So three things must be seen: transfers slower than those of sibling groups, exposed for
 * longer than on other ranks, while ranks outside wait for longer than the members do.
 */
export function lateByLinks(
  table: RankTable,
  slow: readonly SlowMembers[],
  late: readonly LateRanks[],
): LateRanks[] {
  const known = new Set(late.flatMap((l) => l.ranks));
  return slow.flatMap(({ ranks, saving }): LateRanks[] => {
    const isMember = table.ranks.map((rank) => ranks.includes(rank));
    const members = isMember.filter(Boolean).length;
    if (members < 2 || 2 * members > table.ranks.length || ranks.some((rank) => known.has(rank))) return [];
    const perStep = (r: number, of: 'comms_transfer' | 'comms_wait') =>
      mean(table.time[r]!.map((t) => t[of]));
    const among = (inside: boolean, of: 'comms_transfer' | 'comms_wait') =>
      [...isMember.keys()].filter((r) => isMember[r] === inside).map((r) => perStep(r, of));
    const exposed = mean(among(true, 'comms_transfer')) - median(among(false, 'comms_transfer'));
    const waited = median(among(false, 'comms_wait')) - mean(among(true, 'comms_wait'));
    const saved = ns(Math.min(saving, exposed));
    if (!(saved >= LATE_SHARE * table.step) || waited < WAITED_FOR * saved) return [];
    return [
      {
        ranks: [...ranks].sort((a, b) => a - b),
        pattern: 'persistent',
        cause: 'link',
        cost: saved,
        confidence: CONFIDENCE,
        location: null,
        steps: table.steps,
      },
    ];
  });
}
