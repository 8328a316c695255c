import { Category } from '../model/category.js';
import type { Trace } from '../model/trace.js';
import type { GpuWork } from '../traces/timeline/gpu-work.js';

/** Times of every row, in ns: without the calls inside it, and on the GPU for what was launched inside it. */
export interface CallTotals {
  readonly self: Float32Array;
  readonly gpu: Float32Array;
  readonly depth: Uint16Array;
}

/** Calls on the host by row of the trace. */
export class HostCalls {
  readonly #trace: Trace;

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  /** The operator around a launch, or the outermost annotation where there is none. Null: neither. `launch` −1: none. */
  operatorOf(launch: number): string | null {
    const { parent } = this.#trace.calls;
    let found = -1;
    for (let row = launch < 0 ? -1 : parent[launch]!; row >= 0; row = parent[row]!) {
      const category = this.#trace.category(row);
      if (category === Category.cpuOp) return this.#trace.name(row);
      if (category === Category.annotation) found = row;
    }
    return found < 0 ? null : this.#trace.name(found);
  }

  totals(work: GpuWork): CallTotals {
    const { parent } = this.#trace.calls;
    const { dur, rows } = this.#trace.data;
    const self = Float32Array.from(dur, (d) => Math.max(0, d));
    const gpu = new Float32Array(rows);
    for (let i = 0; i < work.length; i++)
      if (work.launchRow[i]! >= 0) gpu[work.launchRow[i]!]! += work.end[i]! - work.start[i]!;
    const depth = depthsOf(parent);
    for (const row of innermostFirst(depth)) {
      const around = parent[row]!;
      // Clocks are read one after the other: inner calls may seem to last longer than the one around them.
      self[around] = Math.max(0, self[around]! - Math.max(0, dur[row]!));
      gpu[around]! += gpu[row]!;
    }
    return { self, gpu, depth };
  }
}

/** How many calls are around each row. Linear: what is known about the calls around it is used. */
function depthsOf(parent: Int32Array): Uint16Array {
  const depth = new Uint16Array(parent.length);
  const known = new Uint8Array(parent.length);
  const path: number[] = [];
  for (let first = 0; first < parent.length; first++) {
    let row = first;
    for (; known[row] === 0 && parent[row]! >= 0; row = parent[row]!) path.push(row);
    known[row] = 1;
    for (let below = depth[row]! + 1; path.length > 0; below++) {
      const inner = path.pop()!;
      depth[inner] = below;
      known[inner] = 1;
    }
  }
  return depth;
}

/** Rows that have a call around them, the deepest first. */
function innermostFirst(depth: Uint16Array): Uint32Array {
  const ends = new Uint32Array(0x10001);
  for (const d of depth) ends[0xffff - d]!++;
  for (let d = 1; d < ends.length; d++) ends[d]! += ends[d - 1]!;
  const order = new Uint32Array(depth.length);
  for (let row = depth.length - 1; row >= 0; row--) order[--ends[0xffff - depth[row]!]!] = row;
  const outermost = depth.reduce((n, d) => n + Number(d === 0), 0);
  return order.subarray(0, depth.length - outermost);
}
