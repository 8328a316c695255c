// Counts what was tolerated, with the offset of the event where it was first seen. The order is shared with
// src/readers/common/trace-rows/counters.ts.
import { alloc } from './memory';

export const NON_FINITE: u32 = 0; // NaN or Infinity where a number should be
export const TRAILING_COMMA: u32 = 1;
export const MISSING_COMMA: u32 = 2; // between two events
export const NO_PHASE: u32 = 3; // an object without "ph" is not an event
export const LONG_STRING: u32 = 4; // cut to MAX_STRING bytes
export const STRINGS_FULL: u32 = 5;
export const KINDS_FULL: u32 = 6;
export const TRACKS_FULL: u32 = 7;
export const NO_TIMESTAMP: u32 = 8; // on an event that needs one
export const NO_DURATION: u32 = 9; // on an X event
export const WIDE_LOST: u32 = 10; // more ids above 32 bits in one event than there is room for
const SIZE: u32 = 16;

const counts: usize = alloc(SIZE * 8);
const firsts: usize = alloc(SIZE * 8);
// Of the event being read. They count once the event is complete: a chunk may end inside it, and then it is read again.
const pending: usize = alloc(SIZE * 4);
let anyPending = false;

/** Offset in the file of the event being read. */
let offset: f64 = 0;
export function beginCounting(eventOffset: f64): void {
  offset = eventOffset;
  if (anyPending) { memory.fill(pending, 0, SIZE * 4); anyPending = false; }
}
// @ts-ignore: decorator
@inline export function eventOffset(): f64 { return offset; }

export function count(what: u32): void {
  anyPending = true;
  store<u32>(pending + (what << 2), load<u32>(pending + (what << 2)) + 1);
}
/** The event being read is complete. */
// @ts-ignore: decorator
@inline export function commitCounts(): void { if (anyPending) commitPending(); }
function commitPending(): void {
  for (let i: usize = 0; i < SIZE; i++) {
    const n = load<u32>(pending + (i << 2));
    if (!n) continue;
    const at = counts + (i << 3), seen = load<f64>(at);
    if (seen == 0) store<f64>(firsts + (i << 3), offset);
    store<f64>(at, seen + <f64>n);
  }
}
export function countersAt(): usize { return counts; }
export function firstsAt(): usize { return firsts; }
