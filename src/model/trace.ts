import { buildCallTree, type CallTree } from './call-tree.js';
import type { Category } from './category.js';
import { type Extents, findExtents } from './extents.js';
import { type GpuLinks, linkGpuWork } from './gpu-links.js';
import { RowIndex } from './row-index.js';
import { findSteps, type HostStep } from './steps.js';
import { StringTable } from './string-table.js';
import type { TraceData } from './trace-data.js';

/**
 * A trace and what is derived from it. The columns are in `data`. The rest is computed on first use and kept.
 */
export class Trace {
  readonly strings: StringTable;
  /** Finds rows by kind and by name. */
  readonly index: RowIndex;
  #extents: Extents | undefined;
  #links: GpuLinks | undefined;
  #calls: CallTree | undefined;
  #steps: readonly HostStep[] | undefined;

  constructor(readonly data: TraceData) {
    this.strings = new StringTable(data.strings);
    this.index = new RowIndex(data, this.strings);
  }

  name(row: number): string {
    return this.strings.text(this.data.name[row]!);
  }

  category(row: number): Category {
    return this.data.kinds[this.data.kind[row]!]!.category;
  }

  /** GPU work joined to the calls that launched it. */
  get links(): GpuLinks {
    this.#links ??= linkGpuWork(this.data, this.strings, this.index);
    return this.#links;
  }

  /** From when to when the trace reaches. */
  get extents(): Extents {
    this.#extents ??= findExtents(this.data);
    return this.#extents;
  }

  /** Which call encloses which, on every track. */
  get calls(): CallTree {
    this.#calls ??= buildCallTree(this.data);
    return this.#calls;
  }

  /** `ProfilerStep#N` spans on the host, in order of time. */
  get steps(): readonly HostStep[] {
    this.#steps ??= findSteps(this.data, this.strings, this.index);
    return this.#steps;
  }
}

/** For each kind of the trace, 1 where it passes: one test per kind instead of one per row. */
export function kindMask(data: TraceData, test: (category: Category, phase: string) => boolean): Uint8Array {
  return Uint8Array.from(data.kinds, (k) => (test(k.category, k.phase) ? 1 : 0));
}
