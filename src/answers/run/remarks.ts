import { namedRanks } from '../../base/rank-ranges.js';
import { formatMs, formatNumber, ns } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Unrecorded } from '../../diagnosis/ranks/views.js';
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

/** With more steps the comparison of ranks says who is late. */
const FEW_STEPS = 4;
/** Fewer collectives say nothing. */
const LEAST_COLLECTIVES = 5;
/** If every rank were as likely to come last, some rank would do so this often by chance in one run of twenty. */
const CHANCE = 0.05;
/** Waiting for it takes at least this part of the step. */
const LEAST_WAIT = 0.02;

/** In a short recording no rank is called late, but one that comes last to most collectives is worth a look. */
export function oftenLastRemark({ comparison }: Observed): Remark | null {
  if (!comparison?.table || comparison.late.length > 0 || comparison.table.steps.length >= FEW_STEPS)
    return null;
  const { waits, matched, table } = comparison;
  const counts = new Map<number, number>();
  for (const rank of waits.late) if (rank >= 0) counts.set(rank, (counts.get(rank) ?? 0) + 1);
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
  const [index, last] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [-1, 0]);
  const ranks = matched.ranks.length;
  if (index < 0 || all < LEAST_COLLECTIVES || ranks * atLeast(last, all, 1 / ranks) > CHANCE) return null;
  const caused = waits.ranks[index]!.caused / table.steps.length;
  if (caused < LEAST_WAIT * table.recorded) return null;
  const detail = `Rank ${matched.ranks[index]} comes last to ${last} of ${all} collectives, and others wait up to ${formatMs(ns(caused))} per step for it; too few steps were recorded to call it late`;
  return { detail, qualifies: null };
}

/** The probability of `least` or more of `n`, each with probability `p`. */
function atLeast(least: number, n: number, p: number): number {
  let term = (1 - p) ** n;
  let below = 0;
  for (let k = 0; k < least; k++) {
    below += term;
    term *= ((n - k) / (k + 1)) * (p / (1 - p));
  }
  return Math.max(0, 1 - below);
}
