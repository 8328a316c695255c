import type { ColumnStore } from '../../base/shape.js';

/** A facts file, unpacked but not yet understood: its shape is in `traces/stored/`. */
export interface FactsRecord {
  /** What comparing ranks needs. */
  readonly core: FactsPart;
  /** What pricing needs besides. Null: not in the file, or not asked for. */
  readonly detail: FactsPart | null;
}

export interface FactsPart extends ColumnStore {
  readonly data: unknown;
}
