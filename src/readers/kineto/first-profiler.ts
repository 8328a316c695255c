import { inBlocks } from '../../base/blocks.js';
import { Category } from '../../model/category.js';
import type { TraceData } from '../../model/trace-data.js';

/** The first profilers of PyTorch (torch.autograd.profiler, before 1.8) wrote no categories: the process tells what ran. */
const KIND_OF_PROCESS: ReadonlyMap<string, Category> = new Map([
  ['CPU functions', Category.cpuOp],
  ['CUDA functions', Category.kernel],
]);
/** A row has 8 bits for its kind. */
const MOST_KINDS = 256;

/** Gives the events of such a trace the categories that later profilers write. Other traces are returned as they are. */
export function withCategories(trace: TraceData): TraceData {
  const ofTrack = trace.tracks.map(({ pid }) => KIND_OF_PROCESS.get(pid) ?? null);
  const plain = trace.kinds.findIndex((k) => k.phase === 'X' && k.categoryName === '');
  const categories = [...KIND_OF_PROCESS.values()];
  if (plain < 0 || ofTrack.every((c) => c === null) || trace.kinds.length + categories.length > MOST_KINDS)
    return trace;
  const added = new Map(categories.map((category, i) => [category, trace.kinds.length + i]));
  const counts = new Map(categories.map((category) => [category, 0]));
  const kind = trace.kind.slice();
  inBlocks(trace.rows, (from, to) => {
    for (let row = from; row < to; row++) {
      const category = ofTrack[trace.track[row]!];
      if (kind[row] !== plain || category === null || category === undefined) continue;
      kind[row] = added.get(category)!;
      counts.set(category, counts.get(category)! + 1);
    }
  });
  const moved = [...counts.values()].reduce((sum, n) => sum + n, 0);
  return {
    ...trace,
    kind,
    kinds: [
      ...trace.kinds.map((k, i) => (i === plain ? { ...k, events: k.events - moved } : k)),
      ...categories.map((category) => ({
        phase: 'X',
        categoryName: category === Category.cpuOp ? 'cpu_op' : 'kernel',
        category,
        events: counts.get(category)!,
        folded: 0,
      })),
    ],
  };
}
