/** One run inside an events file: several runs may be appended to one file. Rows are in file order. */
export interface EventLogRun {
  /** The header line, null when the file has none (lmms-engine writes none). */
  readonly header: EventLogHeader | null;
  /** Names of phases; `name[i]` indexes it. */
  readonly names: readonly string[];
  readonly rows: number;
  /** Index into `names`. */
  readonly name: Uint16Array;
  /** Training step. */
  readonly step: Float64Array;
  readonly rank: Int32Array;
  /** Milliseconds. NaN where the record had none. */
  readonly durationMs: Float64Array;
  /** Milliseconds from the run's anchor. NaN where unknown. */
  readonly startMs: Float64Array;
  /** Micro-step inside the step, −1 where unknown. */
  readonly micro: Int32Array;
  /** 0 unknown, 1 gpu, 2 host. */
  readonly clock: Uint8Array;
}

export interface EventLogHeader {
  readonly version: number;
  readonly run: string | null;
  readonly rank: number | null;
  /** The header object as it stands in the file: anchors, schedule and what later versions add. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A whole `cuda_events_rank_<r>.jsonl`. */
export interface EventLog {
  readonly runs: readonly EventLogRun[];
}
