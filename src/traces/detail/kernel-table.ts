import { inBlocks } from '../../base/blocks.js';
import { indexInSorted } from '../../base/search.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKind, KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from '../timeline/gpu-work.js';

/** One kernel (or kind of copy) by name. Times in ns over the detail window. */
export interface KernelTotal extends KernelKind {
  readonly name: string;
  readonly count: number;
  readonly total: number;
  /** Copied in all; 0 for kernels. */
  readonly bytes: number;
  /** The longest one, for evidence. */
  readonly longestTs: number;
  readonly longest: number;
  /** The same by grid of the launch, which follows the shapes of tensors. Most time first; the rarest are left out. */
  readonly grids: readonly KernelGrid[];
}

export interface KernelGrid {
  /** `[x, y, z]`; empty: not recorded. */
  readonly grid: string;
  readonly count: number;
  readonly total: number;
}

/** A kernel of a ragged model has as many grids as there are lengths. */
const MAX_GRIDS = 16;

interface KernelTable {
  readonly list: readonly KernelTotal[];
  /** Index in `list` of a name, given by its string id. */
  indexOf(name: number): number;
}

/** Totals over the work that steps before `lastStep` launched. */
export function buildKernelTable(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  stepOf: Int32Array,
  lastStep: number,
): KernelTable {
  type Open = { -readonly [K in keyof KernelTotal]: KernelTotal[K] };
  const byName = new Map<number, Open>();
  const grids = new GridTotals(trace);
  const { copies } = trace.data;
  inBlocks(work.length, (from, to) => {
    for (let i = from; i < to; i++) {
      if (stepOf[i]! < 0 || stepOf[i]! >= lastStep) continue;
      const row = work.row[i]!;
      const id = trace.data.name[row]!;
      let entry = byName.get(id);
      if (!entry) {
        const none = { count: 0, total: 0, bytes: 0, longestTs: work.start[i]!, longest: 0, grids: [] };
        entry = { ...kinds[id]!, ...none, name: trace.strings.text(id) };
        byName.set(id, entry);
      }
      const duration = work.end[i]! - work.start[i]!;
      entry.count++;
      entry.total += duration;
      grids.add(id, row, duration);
      if (entry.source === 'runtime') {
        const copied = copies.bytes[indexInSorted(copies.row, row)];
        if (copied !== undefined && Number.isFinite(copied)) entry.bytes += copied;
      }
      if (duration > entry.longest) {
        entry.longest = duration;
        entry.longestTs = work.start[i]!;
      }
    }
  });
  for (const [id, entry] of byName) entry.grids = grids.of(id);
  const list = [...byName.values()].sort((a, b) => b.total - a.total);
  const indexOfEntry = new Map(list.map((entry, index) => [entry, index]));
  return { list, indexOf: (name) => indexOfEntry.get(byName.get(name)!)! };
}

/** Totals by name and grid. */
class GridTotals {
  readonly #byName = new Map<number, Map<number, { count: number; total: number }>>();
  readonly #trace: Trace;

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  add(name: number, row: number, duration: number): void {
    const { gpu } = this.#trace.data;
    const grid = gpu.grid[indexInSorted(gpu.row, row)] ?? 0;
    const grids = this.#byName.get(name) ?? new Map<number, { count: number; total: number }>();
    this.#byName.set(name, grids);
    const sum = grids.get(grid);
    if (sum) {
      sum.count++;
      sum.total += duration;
    } else grids.set(grid, { count: 1, total: duration });
  }

  of(name: number): KernelGrid[] {
    return [...this.#byName.get(name)!]
      .map(([grid, sums]) => ({ grid: grid === 0 ? '' : this.#trace.strings.text(grid), ...sums }))
      .sort((a, b) => b.total - a.total)
      .slice(0, MAX_GRIDS);
  }
}
