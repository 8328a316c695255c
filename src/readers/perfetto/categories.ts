import { Category } from '../../model/category.js';
import { StringTable } from '../../model/string-table.js';
import type { KindInfo, TraceData } from '../../model/trace-data.js';
import { FLAG } from './argument-keys.js';
import type { Track } from './tracks.js';

/** Of slices on threads of the host, for which nothing in the event tells the category. */
export const UNTOLD = 'host_slice';

/**
 * The category of an event that has none. PyTorch gives categories to what Kineto and CUPTI record on the host, but not to
 * synchronization and the profiler's own work; early versions, and Kineto's own builder, give none at all.
 */
export function categoryOf(flags: number, track: Track, name: string): string {
  if ((flags & FLAG.call) !== 0)
    return name.startsWith('cuda') || name.startsWith('hip') ? 'cuda_runtime' : 'cuda_driver';
  if ((flags & FLAG.sync) !== 0) return 'cuda_sync';
  if ((flags & FLAG.kernel) !== 0) return 'kernel';
  if ((flags & FLAG.copy) !== 0) return 'gpu_memcpy';
  if ((flags & FLAG.python) !== 0) return 'python_function';
  if (track.isOverhead) return 'overhead';
  if (!track.isStream) return UNTOLD;
  if (name.startsWith('Memset')) return 'gpu_memset';
  return name.startsWith('Memcpy') ? 'gpu_memcpy' : 'gpu_user_annotation';
}

/** Names of operators: `aten::mm`, `AddmmBackward0`, `triton_poi_fused_add_0`, and what torch.compile marks. */
const OPERATOR =
  /^[A-Za-z_][\w.]*::|Backward\d*$|^CompiledFunction|^triton_|^(?:detach_?|record_param_comms)$|^(?:TorchDynamo |Torch-Compiled Region|Pregraph bytecode|AOTDispatcher |## Call CompiledFxGraph)/;
/** Marks of FSDP and of collectives. The latter have the shapes of their input, as operators do. */
const ANNOTATION = /^FSDP|^(?:nccl|gloo|mpi|ucc):(?!:)/;

/**
 * Tells operators from annotations by their names, where the file does not. `operators`: names with an argument that only
 * operators have. Changes `kind`; returns the kinds with their new counts.
 */
export function tellOperators(trace: TraceData, operators: ReadonlySet<number>): readonly KindInfo[] {
  const untold = trace.kinds.findIndex((k) => k.categoryName === UNTOLD);
  if (untold < 0) return trace.kinds;
  const known = trace.kinds.findIndex((k) => k.categoryName === 'cpu_op' && k.phase === 'X');
  const cpuOp = known < 0 ? trace.kinds.length : known;
  /** 1: it is one, 0: it is none, unless it has the arguments of one, -1: it is none. */
  const judge = new StringTable(trace.strings).memo((text) =>
    ANNOTATION.test(text) ? -1 : Number(OPERATOR.test(text)),
  );
  const isOperator = (name: number) => judge(name) === 1 || (judge(name) === 0 && operators.has(name));
  let count = 0;
  for (let row = 0; row < trace.rows; row++) {
    const name = trace.name[row]!;
    if (trace.kind[row] !== untold || !isOperator(name)) continue;
    trace.kind[row] = cpuOp;
    count++;
  }
  const kinds = [...trace.kinds];
  const { events } = kinds[untold]!;
  kinds[untold] = kindOf('user_annotation', Category.annotation, events - count);
  kinds[cpuOp] = kindOf('cpu_op', Category.cpuOp, count + (kinds[cpuOp]?.events ?? 0));
  return kinds;
}

const kindOf = (categoryName: string, category: Category, events: number): KindInfo => ({
  phase: 'X',
  categoryName,
  category,
  events,
  folded: 0,
});
