import { formatRanks } from '../../base/rank-ranges.js';
import type { RankClock } from '../collectives/clocks.js';

/** Ranks of one machine share its clock. Four ranks of one machine were up to 0.12 ms apart (gloo, six real runs). */
const LEAST_GAP_NS = 500_000;
/** Clocks of two machines must differ by this many times the error of either, and what ranks of one machine differ by. */
const TIMES_THE_ERROR = 3;
const TIMES_THE_SPREAD = 5;
const LEAST_RANKS = 2;

/**
 * Which ranks run on one machine, from their clocks, where nothing else says so. One name for each rank, or null for all:
 * clocks are all alike (one machine, or several that are well synchronized), or groups are no machines. Launchers give each
 * machine as many ranks as the others, and consecutive ones.
 */
export function hostsByClock(clocks: readonly RankClock[]): readonly string[] | null {
  if (clocks.length < 2 * LEAST_RANKS || clocks.some((c) => c.component !== 0)) return null;
  const groups = splitAtGaps(clocks.toSorted((a, b) => a.offset - b.offset));
  if (groups.length < 2) return null;
  const size = groups[0]!.length;
  if (size < LEAST_RANKS || groups.some((g) => g.length !== size)) return null;
  const byRank = clocks.toSorted((a, b) => a.rank - b.rank);
  const positionOf = new Map(byRank.map((c, i) => [c, i]));
  const areConsecutive = groups.every((group) => {
    const blocks = group.map((c) => Math.floor(positionOf.get(c)! / size));
    return blocks.every((block) => block === blocks[0]);
  });
  if (!areConsecutive) return null;
  return clocks.map((clock) => {
    const group = groups.find((g) => g.includes(clock))!;
    return `the host with ranks ${formatRanks(group.map((c) => c.rank).sort((a, b) => a - b))}`;
  });
}

/** `sorted`: by offset. One group where no gap is wide enough, or where the clocks within groups differ too. */
function splitAtGaps(sorted: readonly RankClock[]): readonly (readonly RankClock[])[] {
  const error = sorted.reduce((most, c) => Math.max(most, c.error), 0);
  const least = Math.max(LEAST_GAP_NS, TIMES_THE_ERROR * error);
  const groups: RankClock[][] = [[sorted[0]!]];
  let narrowest = Number.POSITIVE_INFINITY;
  for (let i = 1; i < sorted.length; i++) {
    const gap = sorted[i]!.offset - sorted[i - 1]!.offset;
    if (gap < least) groups.at(-1)!.push(sorted[i]!);
    else {
      groups.push([sorted[i]!]);
      narrowest = Math.min(narrowest, gap);
    }
  }
  const spread = groups.reduce((most, g) => Math.max(most, g.at(-1)!.offset - g[0]!.offset), 0);
  return narrowest >= TIMES_THE_SPREAD * spread ? groups : [sorted];
}
