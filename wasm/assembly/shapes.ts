// Learned shapes. A trace has a few dozen kinds of events, each written the same way every time: the bytes between one
// value and the next (`, "tid": `) repeat exactly. They are kept in a tree; reading an event is then comparing literals
// and reading the values between them. `ph` and `cat` are part of the literals, so a path down the tree is one kind.
//
// A node stands for a literal and the value after it. A literal longer than 64 bytes is a chain of nodes with OP_MORE.
import { alloc } from './memory';

// What to do with the value after the literal.
export const OP_SKIP: u32 = 0;
export const OP_MORE: u32 = 1; // no value: the literal goes on in a child
export const OP_END: u32 = 2; // no value: the event has ended
export const OP_NAME: u32 = 3;
export const OP_PID: u32 = 4;
export const OP_TID: u32 = 5;
export const OP_TS: u32 = 6;
export const OP_DUR: u32 = 7;
export const OP_ID: u32 = 8;
export const OP_EXTERNAL: u32 = 9;
export const OP_CORRELATION: u32 = 10;
export const OP_SIDE: u32 = 11; // into a side table; the cell is in `detail`

const LITERAL: u32 = 64;
const MAX_NODES: u32 = 8192;
const MAX_SIBLINGS: u32 = 48;
/** Longer literals are not learned but read the slow way each time. */
export const MAX_LITERAL: usize = 1024;
const NODE: usize = 128;

// literal 64 B, then u32 each:
const LENGTH: usize = 64, MASK: usize = 68, OP: usize = 72, DETAIL: usize = 76, CHILD: usize = 80, SIBLING: usize = 84;
// The state of the walk after this node's value, for going on the slow way from here.
const IN_ARGS: usize = 88, PHASE: usize = 92, CATEGORY: usize = 96, SIBLINGS: usize = 100;
// At the end of an event: the first node of the event that followed last time; and the name, where a literal includes it.
const FOLLOWER: usize = 104, FIXED_NAME: usize = 108;
/** In FIXED_NAME: the name is a value on this path. */
export const NAMED: u32 = 0xffffffff;

const nodes: usize = alloc(<usize>MAX_NODES * NODE);
/** Right after an event's '{'. */
export const ROOT: usize = nodes;
/** Used where nothing more can be learned; has no children. */
const UNLEARNED: usize = nodes + NODE;
let used: u32 = 2;

// @ts-ignore: decorator
@inline export function opOf(node: usize): u32 { return load<u32>(node, OP); }
// @ts-ignore: decorator
@inline export function detailOf(node: usize): u32 { return load<u32>(node, DETAIL); }
// @ts-ignore: decorator
@inline export function lengthOf(node: usize): u32 { return load<u32>(node, LENGTH); }
// @ts-ignore: decorator
@inline export function inArgsAt(node: usize): u32 { return load<u32>(node, IN_ARGS); }
// @ts-ignore: decorator
@inline export function phaseAt(node: usize): u32 { return load<u32>(node, PHASE); }
// @ts-ignore: decorator
@inline export function categoryAt(node: usize): u32 { return load<u32>(node, CATEGORY); }
// @ts-ignore: decorator
@inline export function fixedNameAt(node: usize): u32 { return load<u32>(node, FIXED_NAME); }
export function siblingsBelow(node: usize): u32 { return load<u32>(node, SIBLINGS); }

/** The child whose literal is at p, or 0. A hit moves to the front: events of one kind come in runs. */
// @ts-ignore: decorator
@inline export function match(node: usize, p: usize): usize {
  const c: usize = load<u32>(node, CHILD);
  if (!c) return 0;
  return fits(c, p) ? c : matchLater(node, c, p);
}

/** The same for the start of an event. First tries what followed an event that ended at `previousEnd` the last time. */
// @ts-ignore: decorator
@inline export function matchFirst(previousEnd: usize, p: usize): usize {
  const guess: usize = load<u32>(previousEnd, FOLLOWER);
  if (guess && fits(guess, p)) return guess;
  const c = match(ROOT, p);
  store<u32>(previousEnd, <u32>c, FOLLOWER);
  return c;
}

/** Compares blocks of 16 bytes that may overlap: the first, the last, then those in between. */
// @ts-ignore: decorator
@inline function fits(c: usize, p: usize): bool {
  if (~<u32>i8x16.bitmask(i8x16.eq(v128.load(p), v128.load(c))) & load<u32>(c, MASK)) return false;
  const length: usize = load<u32>(c, LENGTH);
  if (length <= 16) return true;
  if (differ(p + length - 16, c + length - 16)) return false;
  if (length <= 32) return true;
  if (differ(p + 16, c + 16)) return false;
  return length <= 48 || !differ(p + 32, c + 32);
}
// @ts-ignore: decorator
@inline function differ(a: usize, b: usize): bool { return v128.any_true(v128.xor(v128.load(a), v128.load(b))); }

function matchLater(node: usize, first: usize, p: usize): usize {
  let before = first, c: usize = load<u32>(first, SIBLING);
  while (c) {
    if (fits(c, p)) {
      store<u32>(before, load<u32>(c, SIBLING), SIBLING);
      store<u32>(c, <u32>first, SIBLING);
      store<u32>(node, <u32>c, CHILD);
      return c;
    }
    before = c;
    c = load<u32>(c, SIBLING);
  }
  return 0;
}

function addChild(parent: usize, p: usize, length: u32): usize {
  const siblings = load<u32>(parent, SIBLINGS);
  if (used == MAX_NODES || siblings == MAX_SIBLINGS) return 0;
  const c = nodes + <usize>used * NODE;
  used++;
  memory.copy(c, p, length);
  store<u32>(c, length, LENGTH);
  store<u32>(c, length >= 16 ? 0xffff : (1 << length) - 1, MASK);
  store<u32>(c, load<u32>(parent, CHILD), SIBLING);
  store<u32>(parent, <u32>c, CHILD);
  store<u32>(parent, siblings + 1, SIBLINGS);
  return c;
}

/** Adds the literal [from, to) below `parent`. Always returns a node that holds the state, learned or not. */
export function learn(parent: usize, from: usize, to: usize, op: u32, detail: u32, inArgs: u32, phase: u32, category: u32, fixedName: u32): usize {
  let node: usize = 0;
  if (parent != UNLEARNED && to > from && to - from <= MAX_LITERAL) {
    node = parent;
    while (node && to - from > LITERAL) {
      const known = match(node, from);
      if (known && load<u32>(known, OP) == OP_MORE) node = known;
      else {
        node = addChild(node, from, LITERAL);
        if (node) store<u32>(node, OP_MORE, OP);
      }
      from += LITERAL;
    }
    if (node) node = addChild(node, from, <u32>(to - from));
  }
  if (!node) node = UNLEARNED;
  return setState(node, op, detail, inArgs, phase, category, fixedName);
}
export function unlearned(op: u32, detail: u32, inArgs: u32, phase: u32, category: u32, fixedName: u32): usize {
  return setState(UNLEARNED, op, detail, inArgs, phase, category, fixedName);
}
function setState(node: usize, op: u32, detail: u32, inArgs: u32, phase: u32, category: u32, fixedName: u32): usize {
  store<u32>(node, op, OP); store<u32>(node, detail, DETAIL);
  store<u32>(node, inArgs, IN_ARGS); store<u32>(node, phase, PHASE); store<u32>(node, category, CATEGORY);
  store<u32>(node, fixedName, FIXED_NAME);
  return node;
}
