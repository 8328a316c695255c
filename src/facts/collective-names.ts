import type { CollectiveKind } from './rank-collectives.js';

/**
 * Kinds by name, first match wins: `allreduce`, `nccl:_all_gather_base`, `gloo:all_reduce`, `c10d::alltoall_base_`,
 * `ncclDevKernel_AllReduce_Sum_bf16_RING_LL`, … Matched in lower case without underscores, which differ by version.
 */
const KINDS: readonly (readonly [test: RegExp, kind: CollectiveKind])[] = [
  // NCCL's barrier is an all-reduce of one element: `nccl:all_reduce_barrier`.
  [/barrier/, 'barrier'],
  [/reducescatter/, 'reduce_scatter'],
  [/allreduce|crossdevicereduce|quickreduce/, 'all_reduce'],
  [/allgather/, 'all_gather'],
  [/alltoall|a2a|deepep.*(?:dispatch|combine)/, 'all_to_all'],
  [/broadcast/, 'broadcast'],
  // All-to-alls and batched sends and receives run the same kernel: only the host call tells them apart.
  [/sendrecv|isendirecv|coalesced$/, 'other'],
  [/send/, 'send'],
  [/recv/, 'recv'],
  [/scatter/, 'scatter'],
  [/gather/, 'gather'],
  [/reduce/, 'reduce'],
];
/** Kernel names are long; the operation comes first. */
const LOOKED_AT = 160;

/** `other`: the name does not show it. */
export function kindOfName(name: string): CollectiveKind {
  const plain = name.slice(0, LOOKED_AT).toLowerCase().replaceAll('_', '');
  return KINDS.find(([test]) => test.test(plain))?.[1] ?? 'other';
}

/** Host records that move no data. */
export const MOVES_NOTHING = /^(?:wait|init|_?get_|monitored_barrier_wait)/i;

/** Bytes per element, by torch's scalar types (`BFloat16`) and C++ names (`c10::BFloat16`). NaN: unknown. */
export function bytesOfType(dtype: string): number {
  const plain = dtype.replace(/^(?:c10|at)::/, '').toLowerCase();
  return SIZES.find(([test]) => test.test(plain))?.[1] ?? Number.NaN;
}
const SIZES: readonly (readonly [test: RegExp, bytes: number])[] = [
  [/^(?:q?u?int8|bool|byte|char|(?:un)?signed char|float8\w*|u8|i8|bits\w*)$/, 1],
  [/^(?:half|bfloat16|float16|short|short int|u?int16|complexhalf8)$/, 2],
  [/^(?:float|float32|int|u?int32|unsigned int|complexhalf)$/, 4],
  [/^(?:double|float64|long|long int|long long|u?int64|complexfloat|complex<float>)$/, 8],
  [/^(?:complexdouble|complex<double>)$/, 16],
];

/** The bytes that bus bandwidth is computed from: of the input, but of the output for gathers. 0 means "not recorded". */
export function bytesMoved(
  kind: CollectiveKind,
  inElements: number,
  outElements: number,
  elementBytes: number,
  size: number | null,
): number {
  const [inn, out] = [inElements > 0 ? inElements : Number.NaN, outElements > 0 ? outElements : Number.NaN];
  const elements = () => {
    if (kind === 'all_gather' || kind === 'gather') return out || inn * (size ?? Number.NaN);
    if (kind === 'recv' || kind === 'scatter') return out || inn;
    return inn || out;
  };
  return kind === 'barrier' ? Number.NaN : elements() * elementBytes;
}

/** Elements of all tensors in `Input Dims`, e.g. `[[8, 512], [], [[4], [4]]]`; NaN for anything else. */
export function elementsOfDims(value: unknown): number {
  if (!Array.isArray(value)) return Number.NaN;
  if (value.length === 0) return 0;
  if (value.every((v) => typeof v === 'number')) return value.reduce((n, v) => n * v, 1);
  return value.reduce((n: number, v) => n + elementsOfDims(v), 0);
}
