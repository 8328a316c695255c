import { groupBy } from '../base/group-by.js';
import { isRecv, KIND, type Kind, OVER_DP, PEER_TO_PEER } from './kinds.js';
import type { Operation } from './layout.js';
import { StageOperations } from './stage-operations.js';
import { transfersOf } from './transfers.js';

/** What the operations of one step on one data-parallel rank wait for. */
export interface Graph {
  /** For each operation, those that must end before it starts. */
  readonly after: readonly (readonly number[])[];
  /** Operations that move data together: no member ends before all have started. */
  readonly groups: readonly Group[];
  /** Index of each operation's group; −1: none. */
  readonly groupOf: Int32Array;
  /** All operations in topological order. */
  readonly order: Int32Array;
}

export interface Group {
  readonly members: readonly number[];
  /** The members on all data-parallel ranks form one group. */
  readonly overDp: boolean;
}

/** Null when operations wait for each other in a circle: the table is damaged. */
export function buildGraph(operations: readonly Operation[], stages: number): Graph | null {
  const after: number[][] = operations.map(() => []);
  const chain = (nodes: readonly number[], first: readonly number[] = []) => {
    let before = first;
    for (const node of nodes) {
      for (const earlier of before) after[node]!.push(earlier);
      before = [node];
    }
  };
  const byStage = groupBy(operations.keys(), (node) => operations[node]!.stage);
  const perStage = Array.from(
    { length: stages },
    (_, stage) => new StageOperations(operations, stage, byStage.get(stage) ?? []),
  );
  const transfers = transfersOf(perStage, operations);
  for (const { node, compute, previous } of transfers.matched) {
    if (!isRecv(operations[node]!.kind)) {
      after[node]!.push(compute);
      continue;
    }
    // A receive is posted after the previous computation, and the next one waits for it.
    after[compute]!.push(node);
    if (previous !== undefined) after[node]!.push(previous);
  }

  const overlapped = operations.some((o) => o.kind === KIND.separateGradsAllReduce);
  for (const here of perStage) {
    // One stream computes, one serves each direction to a neighbor, one the data-parallel group.
    chain(here.compute());
    for (const kind of Object.keys(PEER_TO_PEER) as Kind[]) chain(here.of(kind));
    afterWarmUp(here, after);
    chain(here.of(KIND.paramsAllGather, KIND.gradsReduceScatter));
    paramsBeforeForward(here, after);
    if (overlapped) gradsAfterBackward(here, after);
    const lastCompute = here.lastEnd(here.compute());
    const last = lastCompute === undefined ? [] : [lastCompute];
    const collection = here.of(KIND.garbageCollection).slice(0, 1);
    chain(collection, last);
    const done = collection.length > 0 ? collection : last;
    chain(...endOfStep(here, { overlapped, isEdge: here.stage % (stages - 1 || 1) === 0, done }));
  }

  const groups = groupsOf(operations, stages, transfers.pairs);
  const groupOf = new Int32Array(operations.length).fill(-1);
  groups.forEach(({ members }, g) => {
    for (const node of members) groupOf[node] = g;
  });
  const order = inOrder(after, groups, groupOf);
  return order === null ? null : { after, groups, groupOf, order };
}

/** The first transfers of gradients wait for the second-last forward of the warm-up. */
function afterWarmUp(here: StageOperations, after: number[][]): void {
  const compute = here.compute();
  const first = compute.findIndex((node) => here.operations[node]!.kind === KIND.backward);
  if (first < 2) return;
  for (const kind of [KIND.backwardRecv, KIND.backwardSend]) {
    const node = here.of(kind)[0];
    if (node !== undefined) after[node]!.push(compute[first - 2]!);
  }
}

/** The first forward of a chunk waits for the last all-gather of its parameters. */
function paramsBeforeForward(here: StageOperations, after: number[][]): void {
  for (const [chunk, gathers] of here.byChunk(KIND.paramsAllGather)) {
    const forward = here.byChunk(KIND.forward).get(chunk)?.[0];
    if (forward !== undefined) after[forward]!.push(gathers.at(-1)!);
  }
}

/** The reduce-scatter of a chunk's gradients begins after its last backward. */
function gradsAfterBackward(here: StageOperations, after: number[][]): void {
  for (const [chunk, reduces] of here.byChunk(KIND.gradsReduceScatter)) {
    const last = here.lastEnd(here.byChunk(KIND.backward).get(chunk) ?? []);
    if (last !== undefined) after[reduces[0]!]!.push(last);
  }
}

interface EndOfStep {
  /** Gradients are reduced while backward runs. */
  readonly overlapped: boolean;
  /** First or last stage, which share the embedding. */
  readonly isEdge: boolean;
  /** The last computation of the step. */
  readonly done: readonly number[];
}

/** The chain from the last backward to the optimizer, and what it waits for. */
function endOfStep(
  here: StageOperations,
  { overlapped, isEdge, done }: EndOfStep,
): [nodes: readonly number[], first: readonly number[]] {
  const reduces = here.of(KIND.gradsReduceScatter);
  const one = (kind: Kind) => here.of(kind).slice(0, 1);
  const shared = [...one(KIND.layernormAllReduce), ...(isEdge ? one(KIND.embeddingAllReduce) : [])];
  const update = [...one(KIND.clipGrads), ...one(KIND.optimizer)];
  if (!overlapped) return [[...shared, ...reduces, ...update], done];
  return [
    [...shared, ...one(KIND.separateGradsAllReduce), ...update],
    [...reduces.slice(-1), ...done],
  ];
}

function groupsOf(
  operations: readonly Operation[],
  stages: number,
  pairs: readonly (readonly number[])[],
): Group[] {
  const groups: Group[] = pairs.map((members) => ({ members, overDp: false }));
  const embedding: number[] = [];
  const clip: number[] = [];
  operations.forEach(({ kind, stage, sequence }, node) => {
    if (kind === KIND.embeddingAllReduce && sequence === 0 && stage % (stages - 1 || 1) === 0)
      embedding.push(node);
    else if (kind === KIND.clipGrads && sequence === 0) clip.push(node);
    else if (OVER_DP.has(kind)) groups.push({ members: [node], overDp: true });
  });
  if (embedding.length > 0) groups.push({ members: embedding, overDp: false });
  if (clip.length > 0) groups.push({ members: clip, overDp: true });
  return groups;
}

/** Topological order, where a group ends when its last member has started. */
function inOrder(
  after: readonly (readonly number[])[],
  groups: readonly Group[],
  groupOf: Int32Array,
): Int32Array | null {
  const next: number[][] = after.map(() => []);
  const missing = Int32Array.from(after, (before) => before.length);
  after.forEach((before, node) => {
    for (const b of before) next[b]!.push(node);
  });
  const toStart = Int32Array.from(groups, ({ members }) => members.length);
  const order: number[] = [];
  const ready = [...missing.keys()].filter((node) => missing[node] === 0);
  for (let i = 0; i < ready.length; i++) {
    const node = ready[i]!;
    order.push(node);
    const g = groupOf[node]!;
    if (g >= 0 && --toStart[g]! > 0) continue;
    for (const ended of g >= 0 ? groups[g]!.members : [node])
      for (const n of next[ended]!) if (--missing[n]! === 0) ready.push(n);
  }
  return order.length === after.length ? Int32Array.from(order) : null;
}
