/**
 * One rank's collectives as columns, in order of start. Plain data that moves between threads: what of a trace is
 * needed to compare ranks, and nothing else.
 */
export interface RankCollectives {
  /** `phases`: phases that end together on all ranks, of logs that name no collective; they are waiting alone. */
  readonly source: 'trace' | 'events' | 'phases';
  /** Nanoseconds since 1970 (or since boot, as the trace has it) that `start` and `end` count from. */
  readonly baseNs: bigint;
  /** Times are of a clock that can be compared. False for event logs: there only `end − start` means something. */
  readonly timed: boolean;
  readonly length: number;
  /** Place in `groups`. */
  readonly group: Uint16Array;
  /** Place in COLLECTIVE_KINDS. */
  readonly kind: Uint8Array;
  /** As the process group counts them. NaN: not recorded. */
  readonly sequence: Float64Array;
  /** Global rank: the other side of send and recv, the root of broadcast, reduce, gather and scatter. −1: unknown, none. */
  readonly peer: Int32Array;
  /** S of the bus bandwidth formulas (method 5). NaN: unknown. */
  readonly bytes: Float64Array;
  /** Place in `dtypes`; 0: unknown. */
  readonly dtype: Uint8Array;
  /** ns from `baseNs`. */
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** 1: a kernel; 0: the span of a host thread. */
  readonly onDevice: Uint8Array;
  /** Place in `steps` of the step that launched it; −1: none. */
  readonly step: Int32Array;
  /** ns of it that neither computing nor an earlier collective covers: the sum is time that passed. */
  readonly exposed: Float64Array;
  readonly groups: readonly CollectiveGroup[];
  /** As written; the first is '' for unknown. */
  readonly dtypes: readonly string[];
  /** Numbers of the steps in the recording, ascending. */
  readonly steps: readonly number[];
  /** Step numbers mean the same on all ranks: they are the program's, not counted from where the recording began. */
  readonly numbered: boolean;
  /** A profiler was started right before the first one: ranks do so seconds apart. */
  readonly profilerStart: boolean;
  /** Beyond the cap, not in the columns. */
  readonly leftOut: number;
}

export interface CollectiveGroup {
  /** Equal on all members: who is in it when known, else what it is called. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly size: number | null;
  /** Global ranks, ascending. Null: not recorded. */
  readonly ranks: readonly number[] | null;
  /** The trace says which group it is; false: collectives of one stream were taken for one group. */
  readonly named: boolean;
}

export const COLLECTIVE_KINDS = [
  ...(['all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'broadcast', 'reduce'] as const),
  ...(['send', 'recv', 'barrier', 'gather', 'scatter', 'other'] as const),
] as const;
export type CollectiveKind = (typeof COLLECTIVE_KINDS)[number];

export const Kind = Object.fromEntries(COLLECTIVE_KINDS.map((k, i) => [k, i])) as Readonly<
  Record<CollectiveKind, number>
>;

const mask = (...kinds: readonly CollectiveKind[]) =>
  Uint8Array.from(COLLECTIVE_KINDS, (k) => Number(kinds.includes(k)));

/** Nobody is done before everybody has come. */
export const SYNCHRONISES = mask('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all', 'barrier');
/** Between two ranks. */
export const IS_P2P = mask('send', 'recv');
/** Members may move different amounts: sizes need not agree. */
export const UNEVEN = mask('all_to_all', 'gather', 'scatter', 'other');
