import { isRecv, type Kind, PEER_TO_PEER } from './kinds.js';
import type { Operation } from './layout.js';
import type { StageOperations } from './stage-operations.js';

/** How well the clocks of a worker's streams agree, in seconds. 50 µs, from the paper's artifact. */
const CLOCK_ERROR = 5e-5;

export interface Transfers {
  readonly matched: readonly Matched[];
  /** Both ends of each transfer; one end alone where nothing moves or the table lacks the other. */
  readonly pairs: readonly (readonly number[])[];
}

export interface Matched {
  readonly node: number;
  /** The computation that the transfer feeds or comes from, and the one of its kind before. */
  readonly compute: number;
  readonly previous: number | undefined;
}

/**
 * Matches sends and receives with the computation on their stage, and with each other, by order. Recorders also log
 * transfers that move nothing: before the first or after the last computation of a step, and at both ends of the model
 * when stages hold several chunks. These have no peer.
 */
export function transfersOf(
  perStage: readonly StageOperations[],
  operations: readonly Operation[],
): Transfers {
  const chunks = 1 + operations.reduce((max, o) => Math.max(max, o.chunk), 0);
  const matched: Matched[] = [];
  /** Transfers that move data, by kind and stage, in order. */
  const real = new Map<string, number[]>();
  const pairs: number[][] = [];
  for (const here of perStage) {
    for (const kind of Object.keys(PEER_TO_PEER) as Kind[]) {
      const moving: number[] = [];
      for (const { node, compute, previous } of withCompute(here, kind, operations)) {
        if (compute !== undefined) matched.push({ node, compute, previous });
        const peer = compute === undefined ? -1 : operations[compute]!.globalChunk + PEER_TO_PEER[kind]!.to;
        if (peer >= 0 && peer < chunks * perStage.length) moving.push(node);
        else pairs.push([node]);
      }
      real.set(`${kind}/${here.stage}`, moving);
    }
  }
  for (const here of perStage) {
    for (const kind of Object.keys(PEER_TO_PEER) as Kind[]) {
      const { peer, to } = PEER_TO_PEER[kind]!;
      const stage = (here.stage + to + perStage.length) % perStage.length;
      const others = real.get(`${peer}/${stage}`)!;
      real.get(`${kind}/${here.stage}`)!.forEach((node, i) => {
        if (others[i] === undefined) pairs.push([node]);
        else if (!isRecv(kind)) pairs.push([node, others[i]!]);
      });
    }
  }
  return { matched, pairs };
}

function withCompute(
  here: StageOperations,
  kind: Kind,
  operations: readonly Operation[],
): { node: number; compute: number | undefined; previous: number | undefined }[] {
  const compute = here.of(PEER_TO_PEER[kind]!.compute);
  const nodes = here.of(kind);
  const lastStart = compute.reduce((max, n) => Math.max(max, operations[n]!.start), Number.NEGATIVE_INFINITY);
  const firstEnd = compute.reduce((min, n) => Math.min(min, operations[n]!.end), Number.POSITIVE_INFINITY);
  const outside = (node: number) =>
    isRecv(kind)
      ? operations[node]!.start > lastStart + CLOCK_ERROR
      : operations[node]!.end < firstEnd - CLOCK_ERROR;
  const inside = nodes.filter((node) => !outside(node)).length;
  // One receive fewer than computations: the first chunk of the model receives nothing.
  let next = isRecv(kind) && inside > 0 && inside + 1 === compute.length ? 1 : 0;
  return nodes.map((node) =>
    outside(node)
      ? { node, compute: undefined, previous: undefined }
      : { node, compute: compute[next], previous: compute[next++ - 1] },
  );
}
