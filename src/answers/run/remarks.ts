import { namedRanks } from '../../base/rank-ranges.js';
import { formatNumber } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Unrecorded } from '../../diagnosis/ranks/unrecorded-ranks.js';
import type { Comparison } from '../../run/compare.js';
import type { Remark } from '../kit/claim.js';
import { lateSentence } from '../kit/late-words.js';
import { capitalized } from '../kit/words.js';

/** If ranks were not recorded, exposed communication may be waiting for one of them. Our choice: not above "medium". */
const MOST_CONFIDENCE = 0.75;

/** Ranks that were not recorded may be late. Null: all were recorded, or a late one among them explains the waiting. */
export function unrecordedRanksRemark({ comparison, unrecorded }: Observed): Remark | null {
  if (!unrecorded || (comparison && comparison.late.length > 0)) return null;
  const isLikely = comparison !== null && mayWaitForUncaptured(comparison);
  return {
    detail: unrecordedWords(unrecorded, isLikely),
    qualifies: {
      bottleneck: 'comms',
      cause: isLikely ? 'waiting-for-unseen-rank' : null,
      atMost: MOST_CONFIDENCE,
    },
  };
}

/** A median transfer this many times as long as the fastest tenth suggests waiting rather than transfer. */
const SLOWER_THAN_BEST = 3;

/** In a group with members that were not captured, transfers usually take far longer than the fastest ones. */
function mayWaitForUncaptured({ bandwidth, matched }: Comparison): boolean {
  return bandwidth.some((b) => {
    const { size, captured } = matched.groups[b.group]!;
    return size !== null && captured.length < size && b.transferMedian > SLOWER_THAN_BEST * b.transferP10;
  });
}

/** More than this many are counted, not listed. */
const MOST_LISTED = 16;

/** Why exposed communication may not be what it looks like. Without a full stop. */
function unrecordedWords({ count, of, ranks }: Unrecorded, isLikely: boolean): string {
  const who =
    ranks && count <= MOST_LISTED ? namedRanks(ranks) : `${formatNumber(count)} of ${formatNumber(of)} ranks`;
  const late = count === 1 ? 'it' : 'one of them';
  const guess = isLikely
    ? `most transfers take far longer than the fastest, so ${late} is probably late`
    : `if ${late} is late, part of this is waiting for it`;
  return `${capitalized(who)} ${count === 1 ? 'was' : 'were'} not recorded: ${guess}`;
}

/** The worst straggler, whatever limits the run. */
export function lateRanksRemark({ comparison }: Observed): Remark | null {
  const worst = comparison?.late[0];
  return worst ? { detail: lateSentence(worst), qualifies: null } : null;
}
