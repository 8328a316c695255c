import { inBlocks } from '../../base/blocks.js';
import { upperBound } from '../../base/search.js';
import { quantile } from '../../base/statistics.js';
import { Category } from '../../model/category.js';
import { sortByTime } from '../../model/time-order.js';
import { kindMask, type Trace } from '../../model/trace.js';
import { Role, rolesOf } from './roles.js';

/**
 * Calls on the training threads in a time window, thread by thread, in order of start, callers first. Differs from
 * model/call-tree.ts: a few steps of a few threads instead of all rows, with own time and roles instead of overlaps.
 */
export interface HostTree {
  readonly length: number;
  readonly row: Uint32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Index of the caller; −1: none. */
  readonly parent: Int32Array;
  /** Roles of the call itself and of all its callers. */
  readonly roles: Uint32Array;
  /** ns not spent in recorded callees. */
  readonly self: Float64Array;
  /** 1: an operator, runtime or driver call, whose recording slows the host. */
  readonly counted: Uint8Array;
  /** 1: a node of the backward graph, which calls operators but is not one. */
  readonly isNode: Uint8Array;
  /** Index of a runtime or driver call by its row; −1: not in the tree. */
  indexOf(row: number): number;
}

const IS_NODE = /^autograd::engine::evaluate_function|Backward\d{0,3}$/;
const IN_TREE: readonly number[] = [Category.cpuOp, Category.annotation, Category.runtime, Category.driver];

export function buildHostTree(trace: Trace, threads: readonly number[], from: number, to: number): HostTree {
  const { data, strings } = trace;
  const { ts, dur } = data;
  const order = rowsByThread(trace, threads, from, to);
  const length = order.reduce((n, rows) => n + rows.length, 0);
  // Plain locals: the loop below runs once, too briefly for property look-ups to become fast.
  const row = new Uint32Array(length);
  const start = new Float64Array(length);
  const end = new Float64Array(length);
  const parent = new Int32Array(length).fill(-1);
  const roles = new Uint32Array(length);
  const self = new Float64Array(length);
  const counted = new Uint8Array(length);
  const isNode = new Uint8Array(length);
  const roleOfName = strings.memo(rolesOf);
  const isNodeName = strings.memo((name) => Number(IS_NODE.test(name)));
  const isCounted = kindMask(
    data,
    (c) => c === Category.cpuOp || c === Category.runtime || c === Category.driver,
  );
  const isCall = kindMask(data, (c) => c === Category.runtime || c === Category.driver);
  const indexOfCall = new Map<number, number>();
  const { name: names, kind: kinds } = data;
  const stack = new Int32Array(MAX_DEPTH);
  let index = 0;
  for (const rows of order) {
    let depth = 0;
    for (let i = 0; i < rows.length; i++, index++) {
      const r = rows[i]!;
      const name = names[r]!;
      const begins = ts[r]!;
      const duration = Math.max(0, dur[r]!);
      row[index] = r;
      start[index] = begins;
      end[index] = begins + duration;
      self[index]! += duration;
      counted[index] = isCounted[kinds[r]!]!;
      isNode[index] = isNodeName(name);
      // A caller lasts at least as long as its callees. Capture starts the next step inside the optimizer's: that step
      // is not part of it.
      const until = end[index]! - ROUNDING_NS;
      while (depth > 0 && (end[stack[depth - 1]!]! <= begins || end[stack[depth - 1]!]! < until)) depth--;
      const caller = depth > 0 ? stack[depth - 1]! : -1;
      parent[index] = caller;
      roles[index] = roleOfName(name) | (caller < 0 ? 0 : roles[caller]!);
      if (caller >= 0) self[caller]! -= duration;
      if (depth < MAX_DEPTH) stack[depth++] = index;
      if (isCall[kinds[r]!] === 1) indexOfCall.set(r, index);
    }
  }
  const tree = { length, row, start, end, parent, roles, self, counted, isNode };
  const ownRoles = (i: number) => roleOfName(names[row[i]!]!);
  markRecomputation(tree, ownRoles);
  leaveOutClosures(tree, ownRoles);
  return { ...tree, indexOf: (wanted) => indexOfCall.get(wanted) ?? -1 };
}

/** Times may be rounded to microseconds: a callee may seem to end this much after its caller. */
const ROUNDING_NS = 2_000;

/** Python stacks reach a few hundred; operators a few dozen. */
const MAX_DEPTH = 1024;

function rowsByThread(trace: Trace, threads: readonly number[], from: number, to: number): Uint32Array[] {
  const { data } = trace;
  const inTree = kindMask(data, (c, phase) => phase === 'X' && IN_TREE.includes(c));
  const { kind, ts, track } = data;
  const lists = new Array<number[] | undefined>(data.tracks.length);
  for (const t of threads) lists[t] = [];
  inBlocks(data.rows, (first, last) => {
    for (let row = first; row < last; row++) {
      const start = ts[row]!;
      if (start >= from && start < to && inTree[kind[row]!] === 1) lists[track[row]!]?.push(row);
    }
  });
  return threads.map((t) => lists[t]!).map((rows) => sortByTime(Uint32Array.from(rows), data.ts, data.dur));
}

/**
 * Activation checkpointing runs the forward pass again inside a backward node. There, all calls of one caller between its
 * first and its last forward operator are recomputation.
 */
function markRecomputation(tree: Omit<HostTree, 'indexOf'>, ownRoles: (index: number) => number): void {
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  for (let i = 0; i < tree.length; i++) {
    const parent = tree.parent[i]!;
    if (parent < 0 || (tree.roles[parent]! & Role.backward) === 0) continue;
    if ((ownRoles(i) & Role.forwardOp) === 0) continue;
    if ((tree.roles[parent]! & Role.forwardOp) !== 0) continue;
    if (!first.has(parent)) first.set(parent, tree.start[i]!);
    last.set(parent, tree.end[i]!);
  }
  if (first.size === 0) return;
  for (let i = 0; i < tree.length; i++) {
    const parent = tree.parent[i]!;
    if (parent < 0) continue;
    const inherited = tree.roles[parent]! & Role.recompute;
    const since = first.get(parent);
    const inside = since !== undefined && tree.start[i]! >= since && tree.end[i]! <= last.get(parent)!;
    // Reentrant checkpointing runs backward nodes inside the outer one: these are backward, not recomputation.
    const backwardAgain = (ownRoles(i) & Role.backward) !== 0;
    if ((inherited !== 0 || inside) && !backwardAgain) tree.roles[i]! |= Role.recompute;
  }
}

/**
 * ns in which backward nodes run forward operators again: from the node's start, because checkpointing first restores random states
 * and runs the block's Python, to the end of the last of them.
 */
export function recomputedTime({ roles, parent, start, end }: HostTree): number {
  const isRecomputed = (i: number) => (roles[i]! & Role.recompute) !== 0;
  const ends = new Map<number, number>();
  for (let i = 0; i < roles.length; i++) {
    const node = parent[i]!;
    if (!isRecomputed(i) || (node >= 0 && isRecomputed(node))) continue;
    ends.set(node, Math.max(ends.get(node) ?? 0, end[i]!));
  }
  return [...ends].reduce((sum, [node, last]) => sum + (node < 0 ? 0 : last - start[node]!), 0);
}

/**
 * `optimizer.step(closure)` runs forward and backward inside the optimizer's span (Lightning always does). All up to the end
 * of the last backward node inside it, on any thread, is the model's, not the optimizer's.
 */
function leaveOutClosures(tree: Omit<HostTree, 'indexOf'>, ownRoles: (index: number) => number): void {
  const backwardEnds = tree.end.filter((_, i) => (ownRoles(i) & Role.backward) !== 0).sort();
  if (backwardEnds.length === 0) return;
  /** The optimizer's span around each call; −1: none. */
  const around = new Int32Array(tree.length).fill(-1);
  let current = -1;
  /** When the last backward node inside the current optimizer's span ends. */
  let lastBackward = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < tree.length; i++) {
    const parent = tree.parent[i]!;
    around[i] = (ownRoles(i) & Role.optimizer) !== 0 ? i : parent < 0 ? -1 : around[parent]!;
    const update = around[i]!;
    if (update < 0 || update === i) continue;
    if (update !== current) {
      current = update;
      const ended = upperBound(backwardEnds, tree.end[update]!);
      lastBackward = ended > 0 ? backwardEnds[ended - 1]! : Number.NEGATIVE_INFINITY;
    }
    if (tree.start[i]! < lastBackward) tree.roles[i]! &= ~Role.optimizer;
  }
}

/** It makes a view and touches no data, so what it takes is what dispatching and recording an operator takes. */
const MAKES_VIEW = 'aten::as_strided';
const ENOUGH_VIEWS = 15;
/** A quick one, but not the quickest, as for launches (replay/recording-cost.ts). */
const QUICK = 0.3;

/** Null: too few views were made. */
export function viewTime({ data, strings }: Trace, { row }: HostTree): number | null {
  const isView = strings.memo((name) => Number(name === MAKES_VIEW));
  const times = Array.from(
    row.filter((r) => isView(data.name[r]!) === 1),
    (r) => data.dur[r]!,
  );
  return times.length < ENOUGH_VIEWS ? null : quantile(times, QUICK);
}
