import type { CollectiveGroup, RankCollectives } from '../../facts/rank-collectives.js';

export interface MatchInput {
  readonly rank: number;
  readonly collectives: RankCollectives;
}

/**
 * Collectives seen from several ranks, as columns. An instance is one collective. The members of instance i are at
 * `memberStart[i]` up to `memberStart[i + 1]` of `memberRank` (an index in `ranks`) and `memberEntry` (an index in the
 * columns of that rank).
 */
export interface MatchedCollectives {
  /** Rank numbers. */
  readonly ranks: readonly number[];
  readonly groups: readonly MatchedGroup[];
  readonly length: number;
  /** Index in `groups`. */
  readonly group: Uint32Array;
  /** Index in COLLECTIVE_KINDS; `recv` for a send and its receive. */
  readonly kind: Uint8Array;
  /** The largest size that a member recorded. NaN: unknown. */
  readonly bytes: Float64Array;
  /** 1: the group's first after the profiler of some member started. Its waits only show that profilers start apart. */
  readonly first: Uint8Array;
  readonly memberStart: Uint32Array;
  readonly memberRank: Uint16Array;
  readonly memberEntry: Uint32Array;
  /** How sure the matching is: the mean over instances. 0 when nothing matched. */
  readonly confidence: number;
  /** Entries without a partner where there should be one. */
  readonly unmatched: number;
  /** Entries from a time that only one rank recorded. */
  readonly outside: number;
  /** Entries of groups with one captured member, and sends and receives whose other side is unknown. */
  readonly alone: number;
}

/** A process group as all captured ranks together know it. */
export interface MatchedGroup extends CollectiveGroup {
  /** Indices of the ranks that have collectives of it. */
  readonly captured: readonly number[];
  readonly instances: number;
  /** How sure the matching is; 0 when nothing matched. */
  readonly confidence: number;
}

/**
 * Whether all members were captured, as far as the size is known. Where not, the missing one may come late: the others wait for
 * it, which looks like a slow transfer.
 */
export const isWhole = ({ captured, size }: MatchedGroup): boolean => captured.length >= (size ?? 0);

/** For each list of a channel the slot of each entry; −1: none. Entries of different lists in one slot are one collective. */
export interface Slots {
  readonly slots: readonly Int32Array[];
  readonly count: number;
  readonly outside: number;
  readonly confidence: number;
}
