/** Grows with every change of what facts files hold: another number is refused with a clear sentence, never guessed at. */
export const FACTS_FORMAT = 5;

/** The first line of a file, before the parts. */
export interface FactsHead {
  readonly whyslow_facts: number;
  /** Version of whyslow that wrote it. */
  readonly by: string;
  /** Bytes of each part. */
  readonly parts: readonly number[];
}

/** The first line of a part. */
export interface PartHead {
  readonly data: unknown;
  readonly columns: readonly ColumnHead[];
}

export type ColumnHead = readonly [
  type: ColumnType,
  encoding: 'delta' | 'planes',
  length: number,
  bytes: number,
];

/** In the order of `COLUMN_TYPES`. */
export type ColumnType = (typeof COLUMN_TYPES)[number]['name'];
export const COLUMN_TYPES = [Uint8Array, Uint16Array, Uint32Array, Int32Array, Float32Array, Float64Array];

/** Of one file, unpacked. The largest that `whyslow facts` writes have about 15 MB. */
export const MAX_BYTES = 64 << 20;
/** Columns of one file in memory. A byte of the file may become eight. */
export const MAX_COLUMN_BYTES = 256 << 20;
export const LINE_END = 0x0a;
