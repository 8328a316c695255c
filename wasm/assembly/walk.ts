// The slow way through an event: strict JSON from one value to the next that matters. Learns the literal in between.
import { count, TRAILING_COMMA } from './counters';
import { findKey, foundDetail, foundOp } from './keys';
import { kindOf } from './kinds';
import {
  categoryAt, fixedNameAt, inArgsAt, learn, NAMED, OP_END, OP_NAME, OP_SKIP, phaseAt, ROOT, siblingsBelow, unlearned,
} from './shapes';
import { intern, NO_TOKEN } from './strings';
import { skipSpace, stringEnd, valueEnd } from './text';

/** Results that are not positions. */
export const NEED_MORE: usize = 0;
export const MALFORMED: usize = 1;

// Ops of keys that never have a node: their values are part of the literal.
export const KEY_PHASE: u32 = 100;
export const KEY_CATEGORY: u32 = 101;
export const KEY_ARGS: u32 = 102;

/** The node reached by the last walk. */
export let reached: usize = 0;

const QUOTE: u32 = 0x22, COMMA: u32 = 0x2c, COLON: u32 = 0x3a, OPEN: u32 = 0x7b, CLOSE: u32 = 0x7d;

/** From `start`, right after the value of node `from`. Returns where the next value starts (or the event has ended). */
export function walk(from: usize, start: usize, end: usize): usize {
  let inArgs = inArgsAt(from), phase = phaseAt(from), category = categoryAt(from), name = fixedNameAt(from);
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
      // A literal with such a comma is not learned: matching it would not count the comma.
      reached = trailing ? unlearned(OP_END, kind, 0, phase, category, name) : learn(from, start, p, OP_END, kind, 0, phase, category, name);
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
      reached = unlearned(OP_SKIP, 0, inArgs, phase, category, name);
      return p;
    }
    const isFixed = op == OP_SKIP ? mayBeConstant(p, end, from) : op == OP_NAME && name != NAMED && isFlow(phase);
    if (op < KEY_PHASE && !isFixed) {
      if (op == OP_NAME) name = NAMED;
      reached = trailing ? unlearned(op, foundDetail, inArgs, phase, category, name) : learn(from, start, p, op, foundDetail, inArgs, phase, category, name);
      return p;
    }
    const valueStop = valueEnd(p, end);
    if (!valueStop) return NEED_MORE;
    const isString = load<u8>(p) == QUOTE;
    if (op == OP_NAME) name = intern(p, <u32>(valueStop - p));
    else if (op == KEY_PHASE) phase = isString && valueStop - p == 3 ? load<u8>(p + 1) : 0;
    else if (op == KEY_CATEGORY) category = isString ? intern(p, <u32>(valueStop - p)) : NO_TOKEN;
    first = false;
    p = valueStop;
  }
}

/** Phases s, f and t: arrows between events, which repeat their category as name. */
// @ts-ignore: decorator
@inline export function isFlow(phase: u32): bool { return phase == 0x73 || phase == 0x66 || phase == 0x74; }

/**
 * An unused value that is a small integer or a letter, like `"context": 1` or `"bp": "e"`, is assumed to be constant and
 * becomes part of the literal. If it varies, a few literals are learned in vain, then a node that skips the value, which
 * matches from then on.
 */
const MAX_CONSTANTS: u32 = 3;
function mayBeConstant(p: usize, end: usize, from: usize): bool {
  if (siblingsBelow(from) >= MAX_CONSTANTS) return false;
  const c: u32 = load<u8>(p);
  if (c == 0x22) return p + 3 < end && load<u8>(p + 1) != 0x5c && load<u8>(p + 2) == 0x22;
  const e = valueEnd(p, end);
  if (!e || e - p > 3 || c - 0x30 > 9) return false;
  for (let i = p; i < e; i++) if (<u32>load<u8>(i) - 0x30 > 9) return false;
  return true;
}
