// One event: an object of the traceEvents array.
import { CORRELATION, DUR, EXTERNAL, KIND, NAME, OFFSETS, OFFSET_EVERY, TRACK, TS } from './batch';
import { count, eventOffset, KINDS_FULL, NON_FINITE, NO_DURATION, NO_PHASE, NO_TIMESTAMP, WIDE_LOST } from './counters';
import { countEvent, countFolded, OTHER_KIND, trackOf } from './kinds';
import { BAD, numberEnd, readF64, readNs, readU32, WIDE } from './numbers';
import {
  detailOf, fixedNameAt, lengthOf, match, matchFirst, NAMED, OP_CORRELATION, OP_DUR, OP_END, OP_EXTERNAL, OP_ID, OP_MORE, OP_NAME, OP_PID, OP_SKIP,
  OP_TID, OP_TS, opOf, phaseAt, ROOT,
} from './shapes';
import { beginEvent, cell, columnType, commitEntries, T_F64, T_I32, T_TOKEN, T_U32 } from './side-tables';
import { intern, NO_TOKEN } from './strings';
import { isSpace, nestedEnd, scalarEnd, skipSpace, stringEnd, valueEnd } from './text';
import { isFlow, MALFORMED, NEED_MORE, reached, walk } from './walk';

/** No id. */
const NONE: u32 = 0xffffffff;

/** Side tables that the scanner itself writes. The host makes them first, with columns as in src/readers/common/trace-rows/schema.ts. */
const WIDE_IDS: u32 = 0; // four times (field u32, token)
const WIDE_SLOTS: u32 = 4;
const WIDE_DURATIONS: u32 = 1; // ns f64
const FLOWS: u32 = 2; // id u32, kind u32
const FIELD_EXTERNAL: u32 = 0, FIELD_CORRELATION: u32 = 1, FIELD_ID: u32 = 2, FIELD_SIDE: u32 = 256;

const PH_X: u32 = 0x58, PH_M: u32 = 0x4d;

/** Rows in the batch, and rows in batches before it. */
export let rows: u32 = 0;
export let rowBase: u32 = 0;
export function nextBatch(): void { rowBase += rows; rows = 0; }

// The row written last: a flow event right after it, at the same time and on the same track, belongs to it.
let lastTs: i64 = BAD, lastTrack: u32 = NONE, lastCorrelation: u32 = NONE;

// pid and tid repeat from event to event: the last token of each, and its id.
let pidBytes: v128 = i64x2.splat(0), pidMask: u32 = 0, pidLength: usize = 0, pidToken: u32 = NO_TOKEN;
let tidBytes: v128 = i64x2.splat(0), tidMask: u32 = 0, tidLength: usize = 0, tidToken: u32 = NO_TOKEN;
let trackPid: u32 = NONE, trackTid: u32 = NONE, trackId: u32 = NONE;

/** For a value that is not a number where one is expected: counts NaN and infinities. Null and text are just absent. */
// @ts-ignore: decorator
@inline function noteNonFinite(p: usize): void {
  let c: u32 = load<u8>(p);
  if (c == 0x2d) c = load<u8>(++p);
  if (c == 0x4e || c == 0x49 || c == 0x69 || (c == 0x6e && load<u8>(p + 1) == 0x61)) count(NON_FINITE);
}

/** Keeps the text of a value that its 32-bit column cannot hold. */
function keepWide(field: u32, p: usize, e: usize): void {
  if (wideInEvent == WIDE_SLOTS) { count(WIDE_LOST); return; }
  const slot = wideInEvent++ << 1;
  store<u32>(cell(WIDE_IDS, slot), field);
  store<u32>(cell(WIDE_IDS, slot + 1), intern(p, <u32>(e - p)));
}
let wideInEvent: u32 = 0;

/** An id of up to 32 bits into `idValue`; wider ones go to the table of wide ids. Returns the end of the value. */
// @ts-ignore: decorator
@inline function readId(p: usize, end: usize, field: u32): usize {
  const v = readU32(p);
  if (v == WIDE) return readWideId(p, end, field);
  idValue = <u32>v;
  return numberEnd < end ? numberEnd : NEED_MORE;
}
function readWideId(p: usize, end: usize, field: u32): usize {
  idValue = NONE;
  const e = valueEnd(p, end);
  if (e && load<u8>(p) != 0x6e) keepWide(field, p, e); // null is not an id
  return e;
}
let idValue: u32 = NONE;

/** Microseconds into `timeValue`, as nanoseconds. Returns the end of the value. */
// @ts-ignore: decorator
@inline function readTime(p: usize, end: usize): usize {
  timeValue = readNs(p);
  if (timeValue != BAD) return numberEnd < end ? numberEnd : NEED_MORE;
  return readOddTime(p, end);
}
let timeValue: i64 = BAD;

/** A number in quotes, as torch_npu writes times, or no number at all. */
function readOddTime(p: usize, end: usize): usize {
  const e = valueEnd(p, end);
  if (!e) return NEED_MORE;
  if (load<u8>(p) == 0x22) {
    const quoted = readNs(p + 1);
    if (quoted != BAD && numberEnd == e - 1) timeValue = quoted;
  } else noteNonFinite(p);
  return e;
}

/** An argument for a side table. */
function readSide(p: usize, end: usize, detail: u32): usize {
  const table = detail >> 8, column = detail & 0xff;
  const type = columnType(table, column);
  if (type == T_U32) {
    const v = readU32(p);
    if (v != WIDE) {
      if (numberEnd >= end) return NEED_MORE;
      const after: u32 = load<u8>(numberEnd);
      if ((after <= 0x2c && after != 0x2b) || after == 0x7d) { // scalarEnd stops at these too
        store<u32>(cell(table, column), <u32>v);
        return numberEnd;
      }
    }
  }
  const e = valueEnd(p, end);
  if (!e) return NEED_MORE;
  if (type == T_TOKEN) {
    store<u32>(cell(table, column), intern(p, <u32>(e - p)));
    return e;
  }
  if (type == T_F64) {
    const v = readF64(p, e);
    if (v != v) noteNonFinite(p);
    store<f64>(cell(table, column), v);
    return e;
  }
  const negative = type == T_I32 && load<u8>(p) == 0x2d;
  const v = readU32(negative ? p + 1 : p);
  if (v != WIDE && numberEnd == e && (type != T_I32 || v < 0x80000000)) {
    store<u32>(cell(table, column), negative ? <u32>(-(<i32>v)) : <u32>v);
    return e;
  }
  cell(table, column); // the entry exists although the value does not fit
  if (load<u8>(p) != 0x6e) {
    noteNonFinite(p);
    keepWide(FIELD_SIDE + detail, p, e);
  }
  return e;
}

// The event being read. Globals, not locals: with all of them alive across the loop below, registers would run out and every
// turn would save and restore some.
let ts: i64 = BAD, dur: i64 = BAD;
let name: u32 = NO_TOKEN, external: u32 = NONE, correlation: u32 = NONE, id: u32 = NONE;
let pid: u32 = NO_TOKEN, tid: u32 = NO_TOKEN;

/** Where the event before this one ended in the tree. */
let previousEnd: usize = ROOT;

/** start: at '{'. Returns the byte after the event's '}', NEED_MORE or MALFORMED. */
export function event(start: usize, end: usize): usize {
  let p = start + 1;
  let node = ROOT, anchor = ROOT, anchorAt = p;
  ts = BAD; dur = BAD;
  name = NO_TOKEN; external = NONE; correlation = NONE; id = NONE;
  pid = NO_TOKEN; tid = NO_TOKEN;
  beginEvent();
  wideInEvent = 0;
  let child = matchFirst(previousEnd, p);
  while (true) {
    if (child) {
      node = child;
      p += lengthOf(child);
    } else {
      p = walk(anchor, anchorAt, end);
      if (p <= MALFORMED) return p;
      node = reached;
    }
    const op = opOf(node);
    if (op == OP_MORE) { child = match(node, p); continue; }
    if (op == OP_END) {
      if (p > end) return NEED_MORE;
      previousEnd = node;
      if (!name && fixedNameAt(node) != NAMED) name = fixedNameAt(node);
      finish(detailOf(node), phaseAt(node));
      return p;
    }
    // A literal may be learned without the space here.
    if (isSpace(load<u8>(p))) p = skipSpace(p);
    if (p >= end) return NEED_MORE;
    switch (op) {
      case OP_SKIP: {
        const c: u32 = load<u8>(p);
        if (c == 0x22) {
          p = stringEnd(p + 1, end);
          if (!p) return NEED_MORE;
          p++;
        } else if ((c | 0x20) == 0x7b) {
          p = nestedEnd(p, end);
          if (!p) return NEED_MORE;
        } else {
          if (c - 0x30 > 9) noteNonFinite(p);
          p = scalarEnd(p, end);
          if (!p) return NEED_MORE;
        }
        break;
      }
      case OP_NAME: {
        let e: usize;
        if (load<u8>(p) == 0x22) {
          e = stringEnd(p + 1, end);
          if (!e) return NEED_MORE;
          e++;
        } else {
          e = valueEnd(p, end);
          if (!e) return NEED_MORE;
        }
        name = intern(p, <u32>(e - p));
        p = e;
        break;
      }
      case OP_PID: {
        if (pidLength && (~<u32>i8x16.bitmask(i8x16.eq(v128.load(p), pidBytes)) & pidMask) == 0 && p + pidLength < end) p += pidLength;
        else {
          const e = valueEnd(p, end);
          if (!e) return NEED_MORE;
          pidToken = intern(p, <u32>(e - p));
          // The comparison includes the byte after it, else 40 would match 402.
          pidLength = e - p < 16 ? e - p : 0;
          pidBytes = v128.load(p);
          pidMask = (<u32>2 << <u32>pidLength) - 1;
          p = e;
        }
        pid = pidToken;
        break;
      }
      case OP_TID: {
        if (tidLength && (~<u32>i8x16.bitmask(i8x16.eq(v128.load(p), tidBytes)) & tidMask) == 0 && p + tidLength < end) p += tidLength;
        else {
          const e = valueEnd(p, end);
          if (!e) return NEED_MORE;
          tidToken = intern(p, <u32>(e - p));
          tidLength = e - p < 16 ? e - p : 0;
          tidBytes = v128.load(p);
          tidMask = (<u32>2 << <u32>tidLength) - 1;
          p = e;
        }
        tid = tidToken;
        break;
      }
      case OP_TS: {
        p = readTime(p, end);
        if (!p) return NEED_MORE;
        ts = timeValue;
        break;
      }
      case OP_DUR: {
        p = readTime(p, end);
        if (!p) return NEED_MORE;
        dur = timeValue;
        break;
      }
      case OP_EXTERNAL: {
        p = readId(p, end, FIELD_EXTERNAL);
        if (!p) return NEED_MORE;
        external = idValue;
        break;
      }
      case OP_CORRELATION: {
        p = readId(p, end, FIELD_CORRELATION);
        if (!p) return NEED_MORE;
        correlation = idValue;
        break;
      }
      case OP_ID: {
        p = readId(p, end, FIELD_ID);
        if (!p) return NEED_MORE;
        id = idValue;
        break;
      }
      default: {
        p = readSide(p, end, detailOf(node));
        if (!p) return NEED_MORE;
      }
    }
    anchor = node;
    anchorAt = p;
    child = match(node, p);
  }
}

// @ts-ignore: decorator
@inline function finish(kind: u32, phase: u32): void {
  if (!phase) { count(NO_PHASE); return; }
  countEvent(kind);
  if (kind == OTHER_KIND) count(KINDS_FULL);
  let track: u32;
  if (pid == trackPid && tid == trackTid) track = trackId;
  else {
    track = trackOf(pid, tid);
    trackPid = pid; trackTid = tid; trackId = track;
  }
  if (isFlow(phase) && ts == lastTs && ts != BAD && track == lastTrack && id != NONE) {
    foldFlow(kind, id);
    return;
  }
  if (correlation == NONE) correlation = id;
  if (phase == PH_M) ts = BAD; // the time of a metadata event means nothing, and is 0 in old traces
  else if (ts == BAD) count(NO_TIMESTAMP);
  let dur32: u32 = 0;
  if (dur == BAD) { if (phase == PH_X) count(NO_DURATION); }
  else if (<u64>dur < 0xffffffff) dur32 = <u32>dur;
  else {
    dur32 = 0xffffffff;
    store<f64>(cell(WIDE_DURATIONS, 0), <f64>dur);
  }
  const r = <usize>rows;
  store<i64>(TS + (r << 3), ts);
  store<u32>(DUR + (r << 2), dur32);
  store<u32>(NAME + (r << 2), name);
  store<u32>(EXTERNAL + (r << 2), external);
  store<u32>(CORRELATION + (r << 2), correlation);
  store<u16>(TRACK + (r << 1), <u16>track);
  store<u8>(KIND + r, <u8>kind);
  const row = rowBase + rows;
  if ((row & (OFFSET_EVERY - 1)) == 0) store<f64>(OFFSETS + ((r / OFFSET_EVERY) << 3), eventOffset());
  commitEntries(row);
  rows++;
  lastTs = ts; lastTrack = track; lastCorrelation = correlation;
}

/** A flow that belongs to the row before it. Kept only where its id is not that row's correlation. */
function foldFlow(kind: u32, id: u32): void {
  countFolded(kind);
  if (id == lastCorrelation) return;
  beginEvent(); // the flow's own arguments, if any, are not kept
  store<u32>(cell(FLOWS, 0), id);
  store<u32>(cell(FLOWS, 1), kind);
  commitEntries(rowBase + rows - 1);
}
