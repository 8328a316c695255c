/**
 * The operations of a whole job as its framework logged them (the columns of ByteDance's StragglerAnalysis). A row is one
 * operation of one worker in one step. A worker is a pair of data-parallel rank and pipeline stage.
 * Rows are in file order; all columns have `rows` elements, own their buffer whole and can be moved to another thread.
 */
export interface OperationTable {
  readonly rows: number;
  /** Names of kinds, `forward-compute`, `grads-reduce-scatter`, …; `kind[i]` indexes it. */
  readonly kinds: readonly string[];
  readonly kind: Uint16Array;
  /** Data-parallel rank, 0 where the file has no such column. */
  readonly dpRank: Int32Array;
  /** Pipeline stage, 0 where the file has no such column. */
  readonly stage: Int32Array;
  /** Global rank, −1 where unknown. */
  readonly rank: Int32Array;
  /** Training step, an integer. */
  readonly step: Float64Array;
  /** Seconds. Comparable only inside a step: each step may begin at 0. NaN where unknown. */
  readonly start: Float64Array;
  /** Seconds. NaN where unknown; may be negative (a fault of the writer). */
  readonly duration: Float64Array;
  /** Index among the operations of one kind, worker and step, in order of start. −1 where unknown. */
  readonly sequence: Int32Array;
  /** Model chunk (virtual stage) inside the stage, −1 where none. */
  readonly chunk: Int32Array;
  /** Model chunk inside the whole model, −1 where none. */
  readonly globalChunk: Int32Array;
  /** Microbatch, −1 where none. */
  readonly microbatch: Int32Array;
}
