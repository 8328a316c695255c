// Arguments that only some events have go into side tables: (row, columns...). The host says which argument goes where
// (src/readers/common/trace-rows/schema.ts), so a new column needs no change here.
import { alloc } from './memory';

export const MAX_TABLES: u32 = 16;
const MAX_COLUMNS: u32 = 24;

/** Column types, shared with the host. */
export const T_U32: u32 = 0;
export const T_I32: u32 = 1;
export const T_TOKEN: u32 = 2;
export const T_F64: u32 = 3;

/** No value in a signed column. */
const NO_I32: u32 = 0x80000000;

// Per table: count u32, capacity u32, columns u32, rows address u32, then per column: address u32, type u32.
const STRIDE: usize = 16 + MAX_COLUMNS * 8;
const tables: usize = alloc(<usize>MAX_TABLES * STRIDE);
let tableCount: u32 = 0;
/** Bit t: the current event has an entry in table t. */
let touched: u32 = 0;

// @ts-ignore: decorator
@inline function tableAt(t: u32): usize { return tables + <usize>t * STRIDE; }

export function addTable(capacity: u32): u32 {
  const t = tableCount++;
  const at = tableAt(t);
  store<u32>(at, 0); store<u32>(at, capacity, 4); store<u32>(at, 0, 8); store<u32>(at, <u32>alloc(<usize>capacity * 4), 12);
  return t;
}
export function addColumn(t: u32, type: u32): u32 {
  const at = tableAt(t), c = load<u32>(at, 8);
  const col = at + 16 + (<usize>c << 3);
  store<u32>(col, <u32>alloc(<usize>load<u32>(at, 4) << (type == T_F64 ? 3 : 2))); store<u32>(col, type, 4);
  store<u32>(at, c + 1, 8);
  return c;
}
export function tableRows(t: u32): u32 { return load<u32>(tableAt(t)); }
export function tableRowsAt(t: u32): usize { return load<u32>(tableAt(t), 12); }
export function columnAt(t: u32, c: u32): usize { return load<u32>(tableAt(t) + 16 + (<usize>c << 3)); }
// @ts-ignore: decorator
@inline export function columnType(t: u32, c: u32): u32 { return load<u32>(tableAt(t) + 16 + (<usize>c << 3), 4); }

// @ts-ignore: decorator
@inline export function beginEvent(): void { touched = 0; }

/** Address of the current event's cell. Makes an entry with empty columns when the event has none yet. */
export function cell(t: u32, c: u32): usize {
  const at = tableAt(t), n = load<u32>(at);
  if (!(touched & (1 << t))) {
    touched |= 1 << t;
    const columns = load<u32>(at, 8);
    for (let i: u32 = 0; i < columns; i++) {
      const col = at + 16 + (<usize>i << 3), to: usize = load<u32>(col), type = load<u32>(col, 4);
      if (type == T_F64) store<f64>(to + (<usize>n << 3), NaN);
      else store<u32>(to + (<usize>n << 2), type == T_I32 ? NO_I32 : type == T_TOKEN ? 0 : 0xffffffff);
    }
  }
  const col = at + 16 + (<usize>c << 3);
  return <usize>load<u32>(col) + (<usize>n << (load<u32>(col, 4) == T_F64 ? 3 : 2));
}

/** The event is complete and became `row`: keeps its entries. */
// @ts-ignore: decorator
@inline export function commitEntries(row: u32): void {
  let bits = touched;
  while (bits) {
    const at = tableAt(ctz(bits));
    const n = load<u32>(at);
    store<u32>(<usize>load<u32>(at, 12) + (<usize>n << 2), row);
    store<u32>(at, n + 1);
    bits &= bits - 1;
  }
}

/** Whether some table may lack room for 64 more events (two entries each, for a flow after a row). */
export function anyFull(): bool {
  for (let t: u32 = 0; t < tableCount; t++) {
    const at = tableAt(t);
    if (load<u32>(at) + 128 > load<u32>(at, 4)) return true;
  }
  return false;
}
export function clearTables(): void {
  for (let t: u32 = 0; t < tableCount; t++) store<u32>(tableAt(t), 0);
}
