// The scanner: elements of a traceEvents array in, batches of columns out.
import { TS, ROWS } from './batch';
import { beginCounting, commitCounts, count, MISSING_COMMA } from './counters';
import { event, nextBatch, rows } from './event';
import { alloc, grown } from './memory';
import { BAD } from './numbers';
import { anyFull, clearTables } from './side-tables';
import { nestedEnd, skipSpace } from './text';
import { MALFORMED, NEED_MORE } from './walk';

export { columnsAt } from './batch';
export { countersAt, firstsAt } from './counters';
export { rowBase, rows } from './event';
export { alloc } from './memory';
export { addKey } from './keys';
export { kindsAt, kindsUsed, tracksAt, tracksUsed } from './kinds';
export { addColumn, addTable, columnAt, tableRows, tableRowsAt } from './side-tables';
export { packStrings, stringBytes, stringCount, stringIndexAt } from './strings';

/** What `scan` returns. */
const NEED: i32 = 0, BATCH_FULL: i32 = 1, ARRAY_END: i32 = 2, BROKEN: i32 = 3;
const PAD: usize = 128;

let input: usize = 0, capacity: usize = 0;

/** Returns an input buffer of at least this size and keeps the first `keep` bytes. */
export function reserve(bytes: usize, keep: usize): usize {
  if (bytes > capacity) {
    input = capacity ? grown(input, keep, bytes + PAD) : alloc(bytes + PAD);
    capacity = bytes;
  }
  return input;
}

/** Address to go on from after `scan`. */
export let position: usize = 0;
/** No comma was seen since the last event. */
let afterEvent = false;
let base: i64 = BAD;
/** Events since the side tables were checked. Kept between calls: a chunk may hold fewer events than one check covers. */
let sinceCheck = 0;

/** Reads events from [p, end), whose first byte is at `offset` in the file. */
export function scan(p: usize, end: usize, offset: f64): i32 {
  memory.fill(end, 0, PAD);
  const start = p;
  while (true) {
    p = skipSpace(p);
    if (p >= end) break;
    const c: u32 = load<u8>(p);
    if (c == 0x7b) {
      // Checking all side tables for each event would cost too much.
      let full = rows == ROWS;
      if (++sinceCheck == 64) { sinceCheck = 0; full = full || anyFull(); }
      if (full) { position = p; return BATCH_FULL; }
      beginCounting(offset + <f64>(p - start));
      const next = event(p, end);
      if (next == NEED_MORE) break;
      if (next == MALFORMED) { position = p; return BROKEN; }
      if (afterEvent) count(MISSING_COMMA);
      commitCounts();
      afterEvent = true;
      p = next;
    } else if (c == 0x2c) { afterEvent = false; p++; }
    else {
      position = p;
      return c == 0x5d ? ARRAY_END : BROKEN;
    }
  }
  position = p;
  return NEED;
}

/** Whether [p, end) is one object and nothing else. */
export function isOneObject(p: usize, end: usize): bool {
  memory.fill(end, 0, PAD);
  p = skipSpace(p);
  if (load<u8>(p) != 0x7b) return false;
  const e = nestedEnd(p, end);
  return e != 0 && skipSpace(e) == end;
}

/** All times count from this one, in ns: the first time above zero in the first batch that has one. */
export function timeBase(): i64 { return base == BAD ? 0 : base; }

/** Turns the batch's absolute times into doubles from the base. */
export function finishBatch(): void {
  for (let i: usize = 0; base == BAD && i < rows; i++) {
    const t = load<i64>(TS + (i << 3));
    if (t > 0) base = t;
  }
  const b = base == BAD ? 0 : base;
  for (let i: usize = 0; i < rows; i++) {
    const at = TS + (i << 3), t = load<i64>(at);
    store<f64>(at, t == BAD ? NaN : <f64>(t - b));
  }
}

export function startBatch(): void {
  nextBatch();
  clearTables();
}
