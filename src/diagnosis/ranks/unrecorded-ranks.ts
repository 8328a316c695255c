import { namedRanks } from '../../base/rank-ranges.js';
import { largest } from '../../base/statistics.js';
import { formatNumber } from '../../base/units.js';
import type { CollectiveGroup } from '../../facts/rank-collectives.js';

/** Ranks of the job's groups that have neither a trace nor a log. */
export interface Unrecorded {
  readonly count: number;
  /** Of so many. */
  readonly of: number;
  /** Null: only their number is known. */
  readonly ranks: readonly number[] | null;
}

/** More than this many are counted, not listed. */
const MOST_LISTED = 16;

/** `all`: groups as each rank knows them. Null: all members were recorded, or nothing says who they are. */
export function unrecordedRanks(
  all: readonly CollectiveGroup[],
  recorded: ReadonlySet<number>,
): Unrecorded | null {
  // Each of thousands of ranks lists all members of its groups.
  const groups = [...new Map(all.map((g) => [g.key, g])).values()];
  const members = new Set(groups.flatMap((g) => g.ranks ?? []));
  // Ranks that were guessed from the order of files are none of the members.
  const isKnown = [...recorded].every((rank) => members.has(rank));
  const size = Math.max(members.size, largest(groups.map((g) => g.size ?? 0)), 0);
  const count = size - recorded.size;
  if (count <= 0) return null;
  const missing = [...members].filter((rank) => !recorded.has(rank)).sort((a, b) => a - b);
  return { count, of: size, ranks: isKnown && missing.length === count ? missing : null };
}

/** Why exposed communication may not be what it looks like. Without a full stop. */
export function unrecordedSentence({ count, of, ranks }: Unrecorded, isLikely: boolean): string {
  const who =
    ranks && count <= MOST_LISTED ? namedRanks(ranks) : `${formatNumber(count)} of ${formatNumber(of)} ranks`;
  const sentence = `${who} ${count === 1 ? 'was' : 'were'} not recorded`;
  const late = count === 1 ? 'it' : 'one of them';
  const guess = isLikely
    ? `most transfers take far longer than the fastest, so ${late} is probably late`
    : `if ${late} is late, part of this is waiting for it`;
  return `${sentence[0]!.toUpperCase()}${sentence.slice(1)}: ${guess}`;
}
