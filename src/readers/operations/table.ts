import type { FileMetaData, SchemaElement } from 'hyparquet';
import type { OperationTable } from '../../model/operation-table.js';
import { type ColumnSink, KindColumn, NumberColumn } from './columns.js';
import type { OperationFaults } from './faults.js';
import { readChunk, readFooter } from './parquet.js';
import { Unsupported } from './runs.js';

/** 54 bytes a row in the model: 0.9 GB. */
const MAX_ROWS = 1 << 24;

const REQUIRED = ['step', 'optype', 'start_ts', 'duration'] as const;
const OPTIONAL = ['dp_rank', 'stage', 'rank', 'seq_id', 'mc', 'gmc', 'mb_id'] as const;
const COLUMNS: ReadonlySet<string> = new Set([...REQUIRED, ...OPTIONAL]);

/** Reads the columns of an operation table from a Parquet file; an empty table where it is not one. */
export function readTable(file: Uint8Array, faults: OperationFaults): OperationTable {
  const footer = readFooter(file);
  if (footer === null) {
    faults.add('no-footer', null);
    return emptyTable(faults);
  }
  const elements = usableElements(footer, faults);
  if (REQUIRED.some((name) => !elements.has(name))) {
    faults.add('missing-columns', null);
    return emptyTable(faults);
  }
  const groups = groupRows(footer, file.length * 8, faults);
  const rows = groups.reduce((sum, n) => sum + n, 0);
  const columns = newColumns(rows, faults);
  if (isWhole(elements.get('duration')!)) faults.add('whole-times', null);

  const dropped = new Uint8Array(groups.length);
  let first = 0;
  groups.forEach((count, g) => {
    for (const [name, element] of elements) {
      const column: ColumnSink = columns[name as keyof typeof columns];
      column.begin(first, element);
      if (readColumn(file, footer, g, count, name, element, column, faults)) continue;
      column.clear(first, count);
      if (REQUIRED.some((required) => required === name)) dropped[g] = 1;
    }
    first += count;
  });

  const kept = keptRows(groups, dropped, columns, faults);
  const table = toTable(columns, kept);
  countTimes(table, faults);
  return table;
}

type Columns = ReturnType<typeof newColumns>;

/** Each column has its final type from the start: a file may have millions of rows. */
function newColumns(rows: number, faults: OperationFaults) {
  const float = () => new NumberColumn(new Float64Array(rows), Number.NaN, Number.NaN);
  const int = (absent = -1) => new NumberColumn(new Int32Array(rows), absent, -1);
  return {
    step: float(),
    optype: new KindColumn(rows, faults),
    start_ts: float(),
    duration: float(),
    dp_rank: int(0),
    stage: int(0),
    rank: int(),
    seq_id: int(),
    mc: int(),
    gmc: int(),
    mb_id: int(),
  };
}

function toTable(columns: Columns, kept: Int32Array): OperationTable {
  return {
    rows: kept.length,
    kinds: columns.optype.names,
    kind: columns.optype.pick(kept),
    dpRank: columns.dp_rank.pick(kept),
    stage: columns.stage.pick(kept),
    rank: columns.rank.pick(kept),
    step: columns.step.pick(kept),
    start: columns.start_ts.pick(kept),
    duration: columns.duration.pick(kept),
    sequence: columns.seq_id.pick(kept),
    chunk: columns.mc.pick(kept),
    globalChunk: columns.gmc.pick(kept),
    microbatch: columns.mb_id.pick(kept),
  };
}

export function emptyTable(faults: OperationFaults): OperationTable {
  return toTable(newColumns(0, faults), new Int32Array(0));
}

/** Rows of each row group, up to the limit. A row takes at least one bit, because starts differ from row to row. */
function groupRows(footer: FileMetaData, bits: number, faults: OperationFaults): number[] {
  const most = Math.min(MAX_ROWS, bits);
  const counts: number[] = [];
  let rows = 0;
  for (const group of footer.row_groups) {
    const count = Number(group.num_rows);
    if (!(count >= 0 && rows + count <= most)) {
      faults.add('too-many-rows', null);
      break;
    }
    rows += count;
    counts.push(count);
  }
  return counts;
}

/** The known columns that are flat and have a usable type. */
function usableElements(footer: FileMetaData, faults: OperationFaults): Map<string, SchemaElement> {
  const usable = new Map<string, SchemaElement>();
  // Element 0 is the root. The columns follow, each with its children after it.
  for (let i = 1, skip = 0; i < footer.schema.length; i++) {
    const element = footer.schema[i]!;
    const nested = skip > 0;
    skip = Math.max(0, skip - 1) + (Number(element.num_children) || 0);
    if (nested || !COLUMNS.has(element.name)) continue;
    const fits = element.name === 'optype' ? element.type === 'BYTE_ARRAY' : NUMERIC.has(element.type ?? '');
    if (fits && element.repetition_type !== 'REPEATED') usable.set(element.name, element);
    else faults.add('wrong-column-type', null);
  }
  return usable;
}
const NUMERIC: ReadonlySet<string> = new Set(['INT32', 'INT64', 'FLOAT', 'DOUBLE']);

const isWhole = ({ type, converted_type, logical_type }: SchemaElement) =>
  (type === 'INT32' || type === 'INT64') && converted_type === undefined && logical_type === undefined;

/** False when the values of this row group cannot be read; the reason is counted. */
function readColumn(
  file: Uint8Array,
  footer: FileMetaData,
  group: number,
  rows: number,
  name: string,
  element: SchemaElement,
  into: ColumnSink,
  faults: OperationFaults,
): boolean {
  try {
    const found = footer.row_groups[group]!.columns.find((c) => {
      const path = c.meta_data?.path_in_schema;
      return path?.length === 1 && path[0] === name;
    });
    if (!found?.meta_data || found.file_path) throw new Unsupported('no data in this file');
    readChunk(file, { meta: found.meta_data, element, rows }, (row, value) => into.take(row, value));
    return true;
  } catch (error) {
    // On damaged bytes hyparquet throws plain errors and errors of typed arrays.
    faults.add(error instanceof Unsupported ? 'unsupported-column' : 'broken-column', null);
    return false;
  }
}

function keptRows(
  groups: readonly number[],
  dropped: Uint8Array,
  columns: Columns,
  faults: OperationFaults,
): Int32Array {
  const kept = new Int32Array(groups.reduce((sum, n) => sum + n, 0));
  let length = 0;
  let row = 0;
  groups.forEach((count, g) => {
    const end = row + count;
    if (dropped[g] === 1) row = end;
    for (; row < end; row++) {
      const ok =
        Number.isInteger(columns.step.values[row]) &&
        columns.optype.has(row) &&
        columns.dp_rank.values[row]! >= 0 &&
        columns.stage.values[row]! >= 0;
      if (ok) kept[length++] = row;
      else faults.add('missing-value', row);
    }
  });
  return kept.subarray(0, length);
}

function countTimes({ start, duration }: OperationTable, faults: OperationFaults): void {
  for (let row = 0; row < start.length; row++) {
    if (!Number.isFinite(start[row]!) || !Number.isFinite(duration[row]!)) faults.add('missing-time', row);
    else if (duration[row]! < 0) faults.add('negative-duration', row);
  }
}
