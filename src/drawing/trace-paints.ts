import { Category, isGpuWork } from '../model/category.js';
import { COMPILES, HOST_COLLECTIVE, SYNCHRONIZES, WAITS_FOR_DATA } from '../model/host-names.js';
import type { Trace } from '../model/trace.js';
import { classifyName } from '../traces/kernels/classify.js';
import type { WorkClass } from '../traces/kernels/kernel-kind.js';
import { classPaint, Paint, painted, shadeOf } from './paint.js';

const MATRIX: readonly WorkClass[] = ['gemm', 'conv', 'attention', 'rnn'];

/** The paint of each row of a trace. Answers are kept by name, so that a name is looked at once. */
export function tracePaints(trace: Trace): (row: number) => number {
  const { data, strings } = trace;
  const byKind = data.kinds.map(({ category }) =>
    strings.memo((name) => (isGpuWork(category) ? gpuPaint(name, category) : hostPaint(name, category))),
  );
  return (row) => byKind[data.kind[row]!]!(data.name[row]!);
}

function gpuPaint(name: string, category: Category): number {
  const kind = classifyName(name, category);
  if (kind.class === 'comms') return classPaint('comms_transfer');
  if (kind.source === 'runtime') return classPaint('copy');
  return painted(MATRIX.includes(kind.class) ? Paint.matrix : Paint.kernel, shadeOf(name));
}

/** What the host waits for has the color of the idle time that it causes. */
function hostPaint(name: string, category: Category): number {
  const text = name.slice(0, 2000);
  if (/^ProfilerStep#/.test(text)) return painted(Paint.step);
  if (category !== Category.overhead) {
    if (SYNCHRONIZES.test(text)) return classPaint('idle_sync');
    if (WAITS_FOR_DATA.test(text)) return classPaint('idle_data');
    if (COMPILES.test(text)) return classPaint('idle_compile');
    if (HOST_COLLECTIVE.test(text)) return classPaint('idle_comms');
  }
  switch (category) {
    case Category.cpuOp:
      return painted(Paint.operator, shadeOf(text));
    case Category.annotation:
    case Category.gpuAnnotation:
      return painted(Paint.annotation, shadeOf(text));
    case Category.pythonFunction:
      return painted(Paint.python, shadeOf(text));
    case Category.runtime:
    case Category.driver:
      return painted(Paint.runtime, shadeOf(text));
    default:
      return painted(Paint.other);
  }
}
