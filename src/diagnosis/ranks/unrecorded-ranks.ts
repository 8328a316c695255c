import { largest } from '../../base/statistics.js';
import type { CollectiveGroup } from '../../facts/rank-collectives.js';

/** Ranks of the job's groups that have neither a trace nor a log. */
export interface Unrecorded {
  readonly count: number;
  /** Of so many. */
  readonly of: number;
  /** Null: only their number is known. */
  readonly ranks: readonly number[] | null;
}

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
