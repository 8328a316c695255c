/**
 * One run inside an events file. One file may hold several runs, appended. Rows are in file order; all columns have
 * `rows` elements, own their buffer whole and can be cloned or transferred to another thread.
 */
export interface EventLogRun {
  /** Run id of the header or of the records; null where neither has one. */
  readonly id: string | null;
  /** The header line; null where there is none (lmms-engine writes none). */
  readonly header: EventLogHeader | null;
  /**
   * Names of phases; `name[i]` indexes it. One table is shared by all runs of a file, so it may hold names that this
   * run does not use. At most 65 535 names of at most 4096 UTF-16 units.
   */
  readonly names: readonly string[];
  readonly rows: number;
  /** Index into `names`. */
  readonly name: Uint16Array;
  /**
   * Training step, an integer. Never decreasing for a rank and phase in a run without id and header (a decrease starts
   * the next run there); elsewhere decreases are counted as `step-order`.
   */
  readonly step: Float64Array;
  /** Rank of the record, else of the header, else −1. */
  readonly rank: Int32Array;
  /** Milliseconds; may be negative (a fault of the writer). NaN where there is no finite value. */
  readonly durationMs: Float64Array;
  /** Milliseconds from the run's anchor. NaN where unknown. */
  readonly startMs: Float64Array;
  /** Micro-step inside the step, −1 where unknown. */
  readonly micro: Int32Array;
  /** 0 unknown, 1 gpu, 2 host. */
  readonly clock: Uint8Array;
  /** How long the host spent in a phase that was timed on the device, ms. NaN where unknown. */
  readonly hostMs: Float64Array;
  /**
   * How far the device was behind the host when the phase ended, ms. About 0.01, the cost of a mark, where the device was
   * idle. NaN where unknown.
   */
  readonly lagMs: Float64Array;
  /**
   * Whether a profiler made the step slower: 0 no, 1 one was attached to the GPU but did not record, 2 one was recording.
   */
  readonly profiler: Uint8Array;
  /** Time outside steps, as it stood when steps began. */
  readonly outside: OutsideColumns;
}

/**
 * What the job had spent outside its training steps when a step began, from the start of the capture on: saving, evaluating,
 * logging. One row for each recorded step and phase with any time, in file order.
 */
export interface OutsideColumns {
  readonly step: Float64Array;
  readonly rank: Int32Array;
  /** Index into `names`. */
  readonly name: Uint16Array;
  /** Milliseconds, 0 or more. */
  readonly ms: Float64Array;
}

export interface EventLogHeader {
  /** The value of `whyslow`; 0 where it is not a number. */
  readonly version: number;
  readonly run: string | null;
  readonly rank: number | null;
  readonly worldSize: number | null;
  /** When the log was begun: ns since 1970, from the first clock anchor. */
  readonly startedNs: number | null;
  /** The script and its arguments, shortened. */
  readonly command: string | null;
  /** How many of the first steps were all recorded. Later ones were sampled. 0: none, or unknown. */
  readonly denseSteps: number;
  /**
   * The header object as in the file: anchors, schedule, whatever later versions add. Unchecked. Empty where the header is too large
   * or too deep (problem `oversized-header`).
   */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A whole `cuda_events_rank_<r>.jsonl`. */
export interface EventLog {
  /** In the order in which they begin in the file. */
  readonly runs: readonly EventLogRun[];
}
