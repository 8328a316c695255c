/** Kinds of operations that the graph knows. All others in a table are left out. */
export const KIND = {
  forward: 'forward-compute',
  backward: 'backward-compute',
  forwardSend: 'forward-send',
  forwardRecv: 'forward-recv',
  backwardSend: 'backward-send',
  backwardRecv: 'backward-recv',
  paramsAllGather: 'params-all-gather',
  gradsReduceScatter: 'grads-reduce-scatter',
  separateGradsAllReduce: 'separate-grads-all-reduce',
  layernormAllReduce: 'layernorm-grads-all-reduce',
  embeddingAllReduce: 'embedding-grads-all-reduce',
  clipGrads: 'optimizer-clip-main-grad',
  optimizer: 'optimizer',
  garbageCollection: 'gc',
} as const;
export type Kind = (typeof KIND)[keyof typeof KIND];

const KNOWN: ReadonlySet<string> = new Set(Object.values(KIND));
export const isKnown = (name: string): name is Kind => KNOWN.has(name);

/** Transfers between neighboring stages. `to`: distance to the other stage; `peer`: the kind at the other end. */
export const PEER_TO_PEER: Readonly<
  Partial<Record<Kind, { readonly compute: Kind; readonly peer: Kind; readonly to: number }>>
> = {
  [KIND.forwardSend]: { compute: KIND.forward, peer: KIND.forwardRecv, to: 1 },
  [KIND.forwardRecv]: { compute: KIND.forward, peer: KIND.forwardSend, to: -1 },
  [KIND.backwardSend]: { compute: KIND.backward, peer: KIND.backwardRecv, to: -1 },
  [KIND.backwardRecv]: { compute: KIND.backward, peer: KIND.backwardSend, to: 1 },
};
export const isRecv = (kind: Kind) => kind === KIND.forwardRecv || kind === KIND.backwardRecv;

/** All data-parallel ranks take part. Clipping also involves all stages, for the norm of all gradients. */
export const OVER_DP: ReadonlySet<Kind> = new Set([
  KIND.paramsAllGather,
  KIND.gradsReduceScatter,
  KIND.separateGradsAllReduce,
  KIND.clipGrads,
]);

/**
 * Communication. Its ideal time is the median, which ignores the rare slow transfer. The ideal time of computing is the
 * mean, which keeps the amount of work. The all-reduce of layer norms is inside a tensor-parallel group, which is one
 * worker here: nothing in the table waits for it, so it is played like computing.
 */
export const COMMUNICATES: ReadonlySet<Kind> = new Set([
  ...(Object.keys(PEER_TO_PEER) as Kind[]),
  ...OVER_DP,
  KIND.layernormAllReduce,
  KIND.embeddingAllReduce,
]);

/** The name that the slowdown of a kind is reported under: both ends of a transfer share one. */
export function shownAs(kind: Kind): string {
  if (kind === KIND.forwardSend || kind === KIND.forwardRecv) return 'forward-pp-comm';
  if (kind === KIND.backwardSend || kind === KIND.backwardRecv) return 'backward-pp-comm';
  return kind;
}
