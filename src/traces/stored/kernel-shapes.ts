import { flag, list, nullable, number, object, oneOf, text, whole } from '../../base/shape.js';
import type { Precision } from '../../facts/precision.js';
import type { KernelGrid, KernelTotal } from '../detail/kernel-table.js';
import type { OperatorTotal } from '../detail/operators.js';
import type { CopyDirection, CopyKind, KernelSource, WorkClass } from '../kernels/kernel-kind.js';

/** Every name of a union type, and no other. */
const namesOf = <T extends string>(names: Readonly<Record<T, true>>) => Object.keys(names) as T[];

// biome-ignore format: lists
const CLASSES = namesOf<WorkClass>({
  gemm: true, conv: true, attention: true, softmax: true, norm: true, pool: true, rnn: true, elementwise: true,
  reduction: true, optimizer: true, layout: true, cast: true, fill: true, index: true, random: true, sort: true, loss: true,
  fft: true, comms: true, copy: true, wait: true, other: true,
});
// biome-ignore format: lists
const SOURCES = namesOf<KernelSource>({
  cublas: true, cutlass: true, cudnn: true, triton: true, aten: true, cub: true, nccl: true, rccl: true, nvshmem: true,
  rocblas: true, miopen: true, ck: true, aiter: true, flash: true, flashinfer: true, 'tensorrt-llm': true, vllm: true,
  sglang: true, deepgemm: true, deepep: true, 'transformer-engine': true, apex: true, fbgemm: true, runtime: true,
  unknown: true,
});
// biome-ignore format: lists
const PRECISIONS = namesOf<Precision>({
  fp64: true, fp32: true, tf32: true, fp16: true, bf16: true, fp8: true, fp4: true, int8: true, unknown: true,
});
// biome-ignore format: lists
const DIRECTIONS = namesOf<CopyDirection>({
  HtoD: true, DtoH: true, DtoD: true, PtoP: true, HtoH: true, unknown: true,
});

const copyShape = object<CopyKind>({
  direction: oneOf(DIRECTIONS),
  hostMemory: nullable(oneOf(['pageable', 'pinned'])),
});

export const kernelShape = object<KernelTotal>({
  class: oneOf(CLASSES),
  precision: oneOf(PRECISIONS),
  tensorCore: nullable(flag),
  fused: flag,
  source: oneOf(SOURCES),
  layout: nullable(oneOf(['nchw', 'nhwc'])),
  copy: nullable(copyShape),
  name: text,
  count: whole(),
  total: number(),
  bytes: number(),
  longestTs: number(),
  longest: number(),
  grids: list(object<KernelGrid>({ grid: text, count: whole(), total: number() })),
});

export const operatorShape = object<OperatorTotal>({
  name: text,
  count: whole(),
  total: number(),
  self: number(),
  roles: number(),
  longest: number(),
  longestSelf: number(),
});
