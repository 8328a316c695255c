import { isRecv, type Kind, PEER_TO_PEER } from './kinds.js';
import type { Operation } from './layout.js';
import type { StageOperations } from './stage-operations.js';

/** Clocks of one worker's streams agree this well, in seconds: 50 µs, as the artifact of the paper has it. */
const CLOCK_ERROR = 5e-5;

export interface Transfers {
  readonly matched: readonly Matched[];
  /** Both ends of each transfer; alone where nothing was sent or the other end is not in the table. */
  readonly pairs: readonly (readonly number[])[];
}

export interface Matched {
  readonly node: number;
  /** The computing that the transfer feeds or comes from, and the one of its kind before. */
  readonly compute: number;
  readonly previous: number | undefined;
}

/**
 * Matches sends and receives with the computing on their stage by order, and with each other by order among those that
 * move something. Recorders also log some that move nothing: before the first or after the last computing of the step,
 * and at the two ends of the model when stages hold several chunks of it.
 */
export function transfersOf(
  perStage: readonly StageOperations[],
  operations: readonly Operation[],
): Transfers {
  const chunks = 1 + operations.reduce((max, o) => Math.max(max, o.chunk), 0);
  const matched: Matched[] = [];
  /** Real ones of a kind and stage, in order. */
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
  // One receive fewer than computing: the first computing of the model has nothing to receive.
  let at = isRecv(kind) && inside > 0 && inside + 1 === compute.length ? 1 : 0;
  return nodes.map((node) =>
    outside(node)
      ? { node, compute: undefined, previous: undefined }
      : { node, compute: compute[at], previous: compute[at++ - 1] },
  );
}
