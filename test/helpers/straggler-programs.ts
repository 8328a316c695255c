import { groupBy } from '../../src/base/group-by.js';

/** Kinds of operations in tables of StragglerAnalysis. */
export const KIND = {
  forward: 'forward-compute',
  backward: 'backward-compute',
  forwardSend: 'forward-send',
  forwardRecv: 'forward-recv',
  backwardSend: 'backward-send',
  backwardRecv: 'backward-recv',
  paramsAllGather: 'params-all-gather',
  gradsReduceScatter: 'grads-reduce-scatter',
  layernormAllReduce: 'layernorm-grads-all-reduce',
  embeddingAllReduce: 'embedding-grads-all-reduce',
  clipGrads: 'optimizer-clip-main-grad',
  optimizer: 'optimizer',
  garbageCollection: 'gc',
} as const;
export type Kind = (typeof KIND)[keyof typeof KIND];

/** A row of a table. Seconds. */
export interface Operation {
  readonly kind: Kind;
  readonly dpRank: number;
  readonly stage: number;
  readonly rank: number;
  readonly step: number;
  readonly start: number;
  readonly duration: number;
  /** Index among the operations of one kind, worker and step. */
  readonly sequence: number;
}

/** What a worker of one stage does in a step: segments in order, and transfers that it starts on the way. */
export interface Program {
  readonly segments: readonly Segment[];
  readonly slots: readonly Slot[];
}

interface Segment {
  /** Slots that become ready when the segment begins. */
  readonly posts: number[];
  /** Slot that the segment waits for; −1: it runs an operation, or nothing. */
  readonly wait: number;
  readonly run: Operation | null;
}

export interface Slot {
  readonly operation: Operation;
  /** Slot before it in its stream; −1: none. */
  readonly before: number;
  /** Those that move data together. Null: alone. */
  readonly group: { readonly id: string; readonly overDp: boolean } | null;
}

/** Transfers between neighboring stages. `to`: distance to the other stage; `peer`: the kind at the other end. */
const PEER_TO_PEER = [
  { kind: KIND.forwardSend, compute: KIND.forward, peer: KIND.forwardRecv, to: 1 },
  { kind: KIND.forwardRecv, compute: KIND.forward, peer: KIND.forwardSend, to: -1 },
  { kind: KIND.backwardSend, compute: KIND.backward, peer: KIND.backwardRecv, to: -1 },
  { kind: KIND.backwardRecv, compute: KIND.backward, peer: KIND.backwardSend, to: 1 },
] as const;
const isRecv = (kind: Kind) => kind === KIND.forwardRecv || kind === KIND.backwardRecv;

/** How well the clocks of a worker's streams agree, in seconds, from the paper's artifact. */
const CLOCK_ERROR = 5e-5;

const endOf = (o: Operation) => o.start + Math.max(0, o.duration);

/** One program per stage, from the operations of one data-parallel rank in one step. Stages hold one chunk of the model. */
export function programsOf(operations: readonly Operation[], stages: readonly number[]): Program[] {
  const byStart = operations.toSorted((a, b) => a.start - b.start || a.sequence - b.sequence);
  const byStage = groupBy(byStart, (o) => o.stage);
  return stages.map((stage, index) => stageProgram(byStage.get(stage)!, index, stages.length));
}

function stageProgram(operations: readonly Operation[], stage: number, stages: number): Program {
  const byKind = groupBy(operations, (o) => o.kind);
  const of = (kind: Kind) => byKind.get(kind) ?? [];
  const one = (kind: Kind) => of(kind).slice(0, 1);
  const compute = operations.filter((o) => o.kind === KIND.forward || o.kind === KIND.backward);
  const slots: Slot[] = [];
  const add = (operation: Operation, before: number, group: Slot['group']) =>
    slots.push({ operation, before, group }) - 1;

  /** Slots by the number of computations that end before they are posted, and those that a computation waits for. */
  const posted = new Map<number, number[]>();
  const awaited = new Map<Operation, number[]>();
  const post = (slot: number, after: Operation | undefined) => {
    const at = after ? compute.indexOf(after) + 1 : 0;
    posted.set(at, [...(posted.get(at) ?? []), slot]);
  };
  const wait = (o: Operation, slot: number) => awaited.set(o, [...(awaited.get(o) ?? []), slot]);

  const warm = compute[compute.findIndex((o) => o.kind === KIND.backward) - 2];
  const last: number[] = [];
  for (const { kind, compute: computes, peer, to } of PEER_TO_PEER) {
    let before = -1;
    let moved = 0;
    matchedTransfers(of(kind), of(computes)).forEach(({ operation, feeds, previous }, i) => {
      const other = stage + to;
      const moves = feeds !== undefined && other >= 0 && other < stages;
      const pair = isRecv(kind) ? `${peer}/${other}` : `${kind}/${stage}`;
      before = add(operation, before, moves ? { id: `${pair}/${moved++}`, overDp: false } : null);
      // A receive is posted after the previous computation, and the next one waits for it.
      const after = isRecv(kind) ? previous : feeds;
      if (isRecv(kind) && feeds) wait(feeds, before);
      // The first transfer of gradients also waits for the second-last forward of the warm-up.
      const alsoAfter = computes === KIND.backward && i === 0 ? warm : undefined;
      const later = [after, alsoAfter].filter((o) => o !== undefined);
      post(before, later.sort((a, b) => compute.indexOf(b) - compute.indexOf(a))[0]);
    });
    if (before >= 0) last.push(before);
  }

  let gathered = -1;
  for (const o of of(KIND.paramsAllGather)) {
    gathered = add(o, gathered, { id: keyIn(o), overDp: true });
    post(gathered, undefined);
  }
  if (gathered >= 0) wait(of(KIND.forward)[0]!, gathered);

  const segments: Segment[] = compute.flatMap((o, i) => [
    { posts: posted.get(i) ?? [], wait: -1, run: null },
    ...(awaited.get(o) ?? []).map((slot) => ({ posts: [], wait: slot, run: null })),
    { posts: [], wait: -1, run: o },
  ]);
  segments.push({ posts: posted.get(compute.length) ?? [], wait: -1, run: null });
  const run = (o: Operation) => segments.push({ posts: [], wait: -1, run: o });
  const meet = (slot: number) => segments.push({ posts: [slot], wait: slot, run: null });

  // The end of the step, in order.
  const isEdge = stage === 0 || stage === stages - 1;
  one(KIND.garbageCollection).forEach(run);
  one(KIND.layernormAllReduce).forEach(run);
  if (isEdge) for (const o of one(KIND.embeddingAllReduce)) meet(add(o, -1, { id: o.kind, overDp: false }));
  for (const o of of(KIND.gradsReduceScatter)) {
    gathered = add(o, gathered, { id: keyIn(o), overDp: true });
    meet(gathered);
  }
  for (const o of one(KIND.clipGrads)) meet(add(o, -1, { id: o.kind, overDp: true }));
  one(KIND.optimizer).forEach(run);
  for (const slot of last) segments.push({ posts: [], wait: slot, run: null });
  return { segments, slots };
}

const keyIn = (o: Operation) => `${o.kind}/${o.stage}/${o.sequence}`;

/**
 * Transfers with the computation that they feed or come from, by order, and the one of its kind before. Recorders also log
 * transfers that move nothing, before the first or after the last computation of a step: those have neither.
 */
function matchedTransfers(transfers: readonly Operation[], compute: readonly Operation[]) {
  const lastStart = Math.max(...compute.map((o) => o.start));
  const firstEnd = Math.min(...compute.map(endOf));
  const moves = (o: Operation) =>
    isRecv(o.kind) ? o.start <= lastStart + CLOCK_ERROR : endOf(o) >= firstEnd - CLOCK_ERROR;
  const inside = transfers.filter(moves).length;
  // One receive fewer than computations: the first chunk of the model receives nothing.
  let next = transfers.some((o) => isRecv(o.kind)) && inside > 0 && inside + 1 === compute.length ? 1 : 0;
  return transfers.map((operation) =>
    moves(operation)
      ? { operation, feeds: compute[next], previous: compute[next++ - 1] }
      : { operation, feeds: undefined, previous: undefined },
  );
}
