/** What an event is, whatever the version of the profiler called it. Numbers, because they index and compare fast. */
export const Category = {
  other: 0,
  /** An operator on the host. */
  cpuOp: 1,
  /** `record_function`, `ProfilerStep#N`, DataLoader and optimizer spans, on the host. */
  annotation: 2,
  pythonFunction: 3,
  /** CUDA/HIP runtime or driver calls: launches, copies, synchronisation. */
  runtime: 4,
  driver: 5,
  kernel: 6,
  memcpy: 7,
  memset: 8,
  /** The host's annotations as seen on the GPU. */
  gpuAnnotation: 9,
  /** CUPTI's synchronisation records on GPU tracks. */
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

/** Names in traces. The capitalised ones are from 2021 and before. */
const BY_NAME: Readonly<Record<string, Category>> = {
  ...{ cpu_op: Category.cpuOp, Operator: Category.cpuOp },
  ...{ user_annotation: Category.annotation, python_function: Category.pythonFunction },
  ...{ cuda_runtime: Category.runtime, Runtime: Category.runtime, xpu_runtime: Category.runtime },
  ...{ privateuse1_runtime: Category.runtime, mtia_runtime: Category.runtime, hip_runtime: Category.runtime },
  ...{ cuda_driver: Category.driver, privateuse1_driver: Category.driver },
  ...{ kernel: Category.kernel, Kernel: Category.kernel, mtia_insight: Category.kernel },
  ...{ gpu_memcpy: Category.memcpy, Memcpy: Category.memcpy },
  ...{ gpu_memset: Category.memset, Memset: Category.memset },
  ...{ gpu_user_annotation: Category.gpuAnnotation, cuda_sync: Category.sync, overhead: Category.overhead },
  ...{ cpu_instant_event: Category.memory, Trace: Category.span },
  ...{ ac2g: Category.flow, async_cpu_to_gpu: Category.flow, async: Category.flow, fwdbwd: Category.flow },
  ...{ forward_backward: Category.flow, async_gpu: Category.flow },
};

export function categoryOf(name: string, phase: string): Category {
  if (phase === 's' || phase === 't' || phase === 'f') return Category.flow;
  return BY_NAME[name] ?? Category.other;
}

/** Work on the device: what keeps a GPU busy. */
export function isGpuWork(category: Category): boolean {
  return category === Category.kernel || category === Category.memcpy || category === Category.memset;
}
