import type { RankCollectives } from '../../facts/rank-collectives.js';

export interface MatchInput {
  readonly rank: number;
  readonly worldSize: number | null;
  readonly collectives: RankCollectives;
}

/**
 * Collectives seen from several ranks. An instance is one collective; its members are `memberRank` and `memberEntry` from
 * `memberStart[i]` up to `memberStart[i + 1]`. Ranks are given by place in `ranks`, entries by place in their columns.
 */
export interface MatchedCollectives {
  /** Rank numbers. */
  readonly ranks: readonly number[];
  readonly groups: readonly MatchedGroup[];
  readonly length: number;
  /** Place in `groups`. */
  readonly group: Uint32Array;
  /** Place in COLLECTIVE_KINDS; for a send and its receive `recv`. */
  readonly kind: Uint8Array;
  /** NaN: not recorded. */
  readonly sequence: Float64Array;
  /** The largest that a member has. NaN: unknown. */
  readonly bytes: Float64Array;
  /** Number of the step, as the first member has it; NaN: none. */
  readonly step: Float64Array;
  /** 1: for some member it is the group's first after its profiler started: waits are the skew of starting. */
  readonly first: Uint8Array;
  readonly memberStart: Uint32Array;
  readonly memberRank: Uint16Array;
  readonly memberEntry: Uint32Array;
  /** How sure the matching is, the groups' weighted by their instances. 0 when nothing matched. */
  readonly confidence: number;
  /** Entries without a partner where there should be one. */
  readonly unmatched: number;
  /** Entries of a time that only one rank recorded. */
  readonly outside: number;
  /** Entries of groups with one captured member, and of exchanges whose partner is not known. */
  readonly alone: number;
}

/** A process group as all captured ranks together know it. */
export interface MatchedGroup {
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly size: number | null;
  readonly ranks: readonly number[] | null;
  readonly named: boolean;
  /** Places of the ranks that have collectives of it. */
  readonly captured: readonly number[];
  readonly instances: number;
  readonly confidence: number;
  /** The weakest way that instances of it were matched in. Null: none matched. */
  readonly method: MatchMethod | null;
}

/** Best first. */
export const METHODS = ['sequence', 'steps', 'order'] as const;
export type MatchMethod = (typeof METHODS)[number];

/** For each list of a channel the instance that each entry belongs to, −1 for none. No list has an instance twice. */
export interface Slots {
  readonly slots: readonly Int32Array[];
  readonly count: number;
  readonly outside: number;
  readonly method: MatchMethod;
  readonly confidence: number;
}
