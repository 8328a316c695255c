import { type CheckResult, found } from '../base/check.js';

/** The column `group` has 16 bits: the last group takes all beyond. */
export const MAX_GROUPS = 0xffff;

/**
 * One rank's collectives as columns, in order of start: all that is needed to compare ranks. Plain data that moves
 * between threads.
 */
export interface RankCollectives {
  /** `phases`: the log names no collective, but a phase ends together on all ranks. Its entries hold waiting only. */
  readonly source: 'trace' | 'events' | 'phases';
  /** What `start` and `end` count from, in ns since 1970 or since boot, as the trace has it. */
  readonly baseNs: bigint;
  /** `start` and `end` are times of the rank's clock. False for event logs: only `end − start` means something. */
  readonly timed: boolean;
  readonly length: number;
  /** Index in `groups`. */
  readonly group: Uint16Array;
  /** Index in COLLECTIVE_KINDS. */
  readonly kind: Uint8Array;
  /** Number in its process group. NaN: not recorded. */
  readonly sequence: Float64Array;
  /** Global rank of the other side of send and recv, or of the root of broadcast, reduce, gather and scatter. −1: none. */
  readonly peer: Int32Array;
  /** The S of NCCL's bus bandwidth formulas. NaN: unknown. */
  readonly bytes: Float64Array;
  /** Index in `dtypes`; 0: unknown. */
  readonly dtype: Uint8Array;
  /** ns from `baseNs`. */
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** 1: a kernel; 0: the span of a host thread. */
  readonly onDevice: Uint8Array;
  /** Index in `steps` of the step that launched it; −1: none. */
  readonly step: Int32Array;
  /** ns that neither computing nor an earlier collective covers, so that the sum is time that passed. */
  readonly exposed: Float64Array;
  readonly groups: readonly CollectiveGroup[];
  /** As written; the first is '' for unknown. */
  readonly dtypes: readonly string[];
  /** Numbers of the recorded steps, ascending. */
  readonly steps: readonly number[];
  /** Step numbers are the program's, so they mean the same on all ranks. False: counted from the start of the recording. */
  readonly numbered: boolean;
  /** A profiler started right before the first collective. Ranks start theirs seconds apart. */
  readonly profilerStart: boolean;
  /** Collectives beyond the cap, which the columns lack. */
  readonly leftOut: number;
}

export interface CollectiveGroup {
  /** Equal on all members: made of the ranks when they are known, else of the name. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly size: number | null;
  /** Global ranks, ascending. Null: not recorded. */
  readonly ranks: readonly number[] | null;
  /** The trace names the group. False: collectives of one stream are taken for one group. */
  readonly named: boolean;
}

// biome-ignore format: a list
export const COLLECTIVE_KINDS = [
  'all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'broadcast', 'reduce',
  'send', 'recv', 'barrier', 'gather', 'scatter', 'other',
] as const;
export type CollectiveKind = (typeof COLLECTIVE_KINDS)[number];

export const Kind = Object.fromEntries(COLLECTIVE_KINDS.map((k, i) => [k, i])) as Readonly<
  Record<CollectiveKind, number>
>;

const mask = (...kinds: readonly CollectiveKind[]) =>
  Uint8Array.from(COLLECTIVE_KINDS, (k) => Number(kinds.includes(k)));

/** No member is done before all have arrived. */
export const SYNCHRONIZES = mask('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier');
/** Between two ranks. */
export const IS_P2P = mask('send', 'recv');
/** Members may move different amounts, so sizes need not agree. */
export const UNEVEN = mask('all_to_all', 'gather', 'scatter', 'other');

/** Limits that were reached while process groups were listed. No real job comes near them. */
export function groupChecks(collectives: RankCollectives | null): readonly CheckResult[] {
  if (!collectives) return [];
  const { groups, source } = collectives;
  const isUnlisted = groups.filter(
    ({ key, size, ranks }) =>
      ranks === null && size !== null && (source === 'events' || key.startsWith('ranks ')),
  );
  const consequence = 'they are matched by name; which ranks were not captured, and the mesh, may be unknown';
  return [
    ...found(
      'warning',
      'groups-not-listed',
      isUnlisted.length,
      'process groups with so many members that they were not listed',
      consequence,
    ),
    ...found(
      'warning',
      'too-many-groups',
      Number(groups.length === MAX_GROUPS),
      `more than ${MAX_GROUPS} process groups`,
      'further ones count as one',
    ),
  ];
}
