// The slow way through an event: strict JSON from one value to the next that matters, learning the literal between.
import { count, TRAILING_COMMA } from './counters';
import { findKey, foundDetail, foundOp } from './keys';
import { kindOf } from './kinds';
import { categoryAt, inArgsAt, learn, OP_END, OP_SKIP, phaseAt, ROOT, unlearned } from './shapes';
import { intern, NO_TOKEN } from './strings';
import { skipSpace, stringEnd, valueEnd } from './text';

/** Results that are no position. */
export const NEED_MORE: usize = 0;
export const MALFORMED: usize = 1;

// Ops of keys that never reach a node: their values are part of the literal.
export const KEY_PHASE: u32 = 100;
export const KEY_CATEGORY: u32 = 101;
export const KEY_ARGS: u32 = 102;

/** The node reached by the last walk. */
export let reached: usize = 0;

const QUOTE: u32 = 0x22, COMMA: u32 = 0x2c, COLON: u32 = 0x3a, OPEN: u32 = 0x7b, CLOSE: u32 = 0x7d;

/** From `start`, right after the value of node `from`. Returns where the next value starts (or the event has ended). */
export function walk(from: usize, start: usize, end: usize): usize {
  let inArgs = inArgsAt(from), phase = phaseAt(from), category = categoryAt(from);
  let first = from == ROOT; // no comma before the first member of an object
  let p = start, trailing = false;
  while (true) {
    p = skipSpace(p);
    if (p >= end) return NEED_MORE;
    let c: u32 = load<u8>(p);
    if (!first && c == COMMA) {
      p = skipSpace(p + 1);
      if (p >= end) return NEED_MORE;
      c = load<u8>(p);
      if (c == CLOSE) { count(TRAILING_COMMA); trailing = true; }
      else if (c != QUOTE) return MALFORMED;
    } else if (c != CLOSE && !(first && c == QUOTE)) return MALFORMED;
    if (c == CLOSE) {
      p++;
      if (inArgs) { inArgs = 0; first = false; continue; }
      const kind = phase ? kindOf(phase, category) : 0;
      // A literal with such a comma is not learned: matching it would not count it.
      reached = trailing ? unlearned(OP_END, kind, 0, phase, category) : learn(from, start, p, OP_END, kind, 0, phase, category);
      return p;
    }
    const key = p + 1, keyEnd = stringEnd(key, end);
    if (!keyEnd) return NEED_MORE;
    p = skipSpace(keyEnd + 1);
    if (p >= end) return NEED_MORE;
    if (load<u8>(p) != COLON) return MALFORMED;
    p = skipSpace(p + 1);
    if (p >= end) return NEED_MORE;
    const op = findKey(key, <u32>(keyEnd - key), inArgs) ? foundOp : OP_SKIP;
    if (op == KEY_ARGS) {
      if (load<u8>(p) == OPEN) { inArgs = 1; first = true; p++; continue; }
      // Not learned: the literal would be a prefix of the one that opens an object.
      reached = unlearned(OP_SKIP, 0, inArgs, phase, category);
      return p;
    }
    if (op < KEY_PHASE) {
      reached = trailing ? unlearned(op, foundDetail, inArgs, phase, category) : learn(from, start, p, op, foundDetail, inArgs, phase, category);
      return p;
    }
    const valueStop = valueEnd(p, end);
    if (!valueStop) return NEED_MORE;
    const isString = load<u8>(p) == QUOTE;
    if (op == KEY_PHASE) phase = isString && valueStop - p == 3 ? load<u8>(p + 1) : 0;
    else category = isString ? intern(p, <u32>(valueStop - p)) : NO_TOKEN;
    first = false;
    p = valueStop;
  }
}
