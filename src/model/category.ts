/** What an event is, in one set of names for all profiler versions. Numbers, because they index and compare fast. */
export const Category = {
  other: 0,
  /** An operator on the host. */
  cpuOp: 1,
  /** `record_function`, `ProfilerStep#N`, DataLoader and optimizer spans, on the host. */
  annotation: 2,
  pythonFunction: 3,
  /** CUDA/HIP runtime or driver calls: launches, copies, synchronization. */
  runtime: 4,
  driver: 5,
  kernel: 6,
  memcpy: 7,
  memset: 8,
  /** The host's annotations as seen on the GPU. */
  gpuAnnotation: 9,
  /** CUPTI's synchronization records on GPU tracks. */
  sync: 10,
  /** The profiler's own work. */
  overhead: 11,
  /** Allocator events. */
  memory: 12,
  /** Arrows between events. */
  flow: 13,
  /** The profiler's span over the whole window. */
  span: 14,
} as const;
export type Category = (typeof Category)[keyof typeof Category];

/** Names in traces. The capitalized ones are from 2021 and before. */
const NAMES: readonly (readonly [Category, string])[] = [
  [Category.cpuOp, 'cpu_op Operator'],
  [Category.annotation, 'user_annotation'],
  [Category.pythonFunction, 'python_function'],
  [Category.runtime, 'cuda_runtime Runtime hip_runtime xpu_runtime mtia_runtime privateuse1_runtime'],
  [Category.driver, 'cuda_driver privateuse1_driver'],
  [Category.kernel, 'kernel Kernel mtia_insight'],
  [Category.memcpy, 'gpu_memcpy Memcpy'],
  [Category.memset, 'gpu_memset Memset'],
  [Category.gpuAnnotation, 'gpu_user_annotation'],
  [Category.sync, 'cuda_sync'],
  [Category.overhead, 'overhead'],
  [Category.memory, 'cpu_instant_event'],
  [Category.flow, 'ac2g async_cpu_to_gpu async async_gpu fwdbwd forward_backward'],
  [Category.span, 'Trace'],
];
const BY_NAME = new Map(NAMES.flatMap(([category, names]) => names.split(' ').map((n) => [n, category])));

export function categoryOf(name: string, phase: string): Category {
  if (phase === 's' || phase === 't' || phase === 'f') return Category.flow;
  return BY_NAME.get(name) ?? Category.other;
}

/** Work that keeps a GPU busy. */
export function isGpuWork(category: Category): boolean {
  return category === Category.kernel || category === Category.memcpy || category === Category.memset;
}
