import { median } from '../base/statistics.js';
import {
  type DeviceMemory,
  MEMORY_ACTIONS,
  type MemorySnapshot,
  type MemoryStack,
} from '../model/memory-snapshot.js';
import { type Allocation, allocationsOf } from './allocations.js';
import { kindOf, lastBefore, MEMORY_KINDS, type MemoryKind, withReplaced } from './kinds.js';
import { optimizerFiles, type Phase, phaseOf, phaseRuns, stepStarts } from './phases.js';

/** What the memory of one GPU holds. Bytes are what the job asked for, without rounding. */
export interface MemoryFacts {
  readonly device: number;
  readonly events: number;
  /** The largest sum, or the moment at which an allocation failed. */
  readonly at: MemoryMoment;
  /** Bytes allocated at the peak. */
  readonly peak: number;
  readonly oom: OutOfMemory | null;
  readonly steps: number;
  /** Memory that each step allocates and that later steps do not free, the most first. */
  readonly growth: readonly MemoryGrowth[];
  readonly overTime: MemoryOverTime;
  readonly expandableSegments: boolean | null;
}

export interface MemoryMoment {
  readonly allocated: number;
  /** Held by the allocator, in use or not. */
  readonly reserved: number;
  /** The most first. Their sum is `allocated`. */
  readonly parts: readonly MemoryPart[];
}

export interface MemoryPart {
  readonly kind: MemoryKind;
  readonly bytes: number;
  readonly count: number;
  /** The most first; further ones are left out. */
  readonly lines: readonly MemoryLine[];
}

export interface MemoryLine {
  /** `model.py:33 in forward`, or what is known of it. */
  readonly at: string;
  readonly bytes: number;
  readonly count: number;
}

export interface OutOfMemory {
  readonly asked: number;
  /** Null: not recorded. */
  readonly deviceFree: number | null;
  readonly at: string;
  /** The allocator had enough, in pieces that are too small. */
  readonly isFragmented: boolean;
}

export interface MemoryGrowth {
  readonly at: string;
  readonly bytesPerStep: number;
  readonly steps: number;
}

export interface MemoryOverTime {
  /** Seconds from the first event. */
  readonly seconds: readonly number[];
  readonly reserved: readonly number[];
  /** Bytes by kind, as in `MEMORY_KINDS`, at the highest moment of each slice. */
  readonly kinds: readonly (readonly number[])[];
}

const MAX_LINES = 8;
const MAX_SLICES = 300;

/** One entry per GPU that the process used. */
export function memoryFacts({ devices, stacks, expandableSegments }: MemorySnapshot): readonly MemoryFacts[] {
  const own = optimizerFiles(stacks);
  const phases = stacks.map((stack) => phaseOf(stack, own));
  return devices.flatMap((device) => {
    const all = allocationsOf(device);
    if (all.length === 0) return [];
    return [{ ...factsOf(device, all, stacks, phases), expandableSegments }];
  });
}

function factsOf(
  device: DeviceMemory,
  all: readonly Allocation[],
  stacks: readonly MemoryStack[],
  phases: readonly Phase[],
): Omit<MemoryFacts, 'expandableSegments'> {
  const runs = phaseRuns(device, phases);
  const starts = stepStarts(runs);
  const kinds = withReplaced(
    all,
    all.map((a) => kindOf(a, stacks[a.stack], phases[a.stack], runs)),
    starts,
  );
  const keptFrom = all.map((a, i) => (kinds[i] === 'activations' ? endOfStep(a, starts) : Infinity));
  const sums = new Sums(device, all, kinds, keptFrom);
  const oomAt = device.action.lastIndexOf(MEMORY_ACTIONS.indexOf('oom'));
  const at = oomAt >= 0 ? oomAt : sums.peakAt;
  const isLive = (a: Allocation) => a.start <= at && a.end > at;
  const parts = partsOf(
    all.flatMap((a, i) => (isLive(a) ? [{ ...a, kind: keptFrom[i]! <= at ? KEPT : kinds[i]! }] : [])),
    stacks,
  );
  const allocated = parts.reduce((sum, p) => sum + p.bytes, 0);
  const reserved = Math.max(allocated, sums.reservedAt(at));
  return {
    device: device.device,
    events: device.action.length + all.filter((a) => a.start < 0).length,
    at: { allocated, reserved, parts },
    peak: sums.peak,
    oom: oomAt < 0 ? null : oomOf(device, oomAt, reserved - allocated, stacks),
    steps: starts.length,
    growth: growthOf(all, starts, stacks),
    overTime: sums.overTime(),
  };
}

const KEPT: MemoryKind = 'kept from earlier steps';

/** Where the next step begins, if it lives that long. */
function endOfStep({ start, end }: Allocation, starts: readonly number[]): number {
  const next = starts[lastBefore(starts, start, (s) => s) + 1] ?? Infinity;
  return end > next ? next : Infinity;
}

function oomOf(
  device: DeviceMemory,
  at: number,
  unused: number,
  stacks: readonly MemoryStack[],
): OutOfMemory {
  const asked = device.size[at]!;
  const free = device.address[at]!;
  return {
    asked,
    deviceFree: Number.isNaN(free) ? null : free,
    at: lineOf(stacks[device.stack[at]!]),
    isFragmented: unused >= asked,
  };
}

/** Where in the job; for the backward pass its operator, which has no line of Python. */
function lineOf(stack: MemoryStack | undefined): string {
  if (!stack) return 'unknown';
  const own = stack.frames.find((f) => f.isOwn);
  const inBackward = stack.inBackward || stack.frames.length === 0;
  if (inBackward && stack.accumulates) return 'the gradients of parameters';
  if (inBackward && !own) return stack.node ? `${stack.node} in the backward pass` : 'the backward pass';
  const frame = own ?? stack.frames[0];
  return frame ? `${shortPath(frame.file)}:${frame.line} in ${frame.function}` : 'unknown';
}

/** The file and its folder. */
const shortPath = (file: string) => file.split(/[\\/]/).slice(-2).join('/');

function partsOf(
  live: readonly (Allocation & { readonly kind: MemoryKind })[],
  stacks: readonly MemoryStack[],
): readonly MemoryPart[] {
  const byKind = new Map<
    MemoryKind,
    { bytes: number; count: number; lines: Map<string, { bytes: number; count: number }> }
  >();
  const names = new Map<number, string>();
  for (const { kind, bytes, stack } of live) {
    const part = byKind.get(kind) ?? { bytes: 0, count: 0, lines: new Map() };
    byKind.set(kind, part);
    const name = names.get(stack) ?? lineOf(stacks[stack]);
    names.set(stack, name);
    const line = part.lines.get(name) ?? { bytes: 0, count: 0 };
    part.lines.set(name, line);
    part.bytes += bytes;
    part.count++;
    line.bytes += bytes;
    line.count++;
  }
  return [...byKind]
    .map(([kind, { bytes, count, lines }]) => ({
      kind,
      bytes,
      count,
      lines: [...lines]
        .map(([at, line]) => ({ at, ...line }))
        .sort((a, b) => b.bytes - a.bytes)
        .slice(0, MAX_LINES),
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

/** With fewer steps it may be something that is made once. */
const LEAST_STEPS = 3;

/** Per line: what each step made that was still there two steps later. The first step also makes what stays for good. */
function growthOf(
  all: readonly Allocation[],
  starts: readonly number[],
  stacks: readonly MemoryStack[],
): readonly MemoryGrowth[] {
  // The last two steps are too young.
  const steps = starts.length - 3;
  if (steps < LEAST_STEPS) return [];
  const byLine = new Map<string, Map<number, number>>();
  for (const { start, end, bytes, stack } of all) {
    const step = start < 0 ? -1 : lastBefore(starts, start, (s) => s);
    if (step < 1 || step > steps || end <= starts[step + 2]!) continue;
    const line = lineOf(stacks[stack]);
    const perStep = byLine.get(line) ?? new Map<number, number>();
    if (bytes > 0) byLine.set(line, perStep.set(step, (perStep.get(step) ?? 0) + bytes));
  }
  return [...byLine]
    .filter(([, perStep]) => perStep.size === steps)
    .map(([at, perStep]) => ({ at, bytesPerStep: median([...perStep.values()]), steps }))
    .sort((a, b) => b.bytesPerStep - a.bytesPerStep)
    .slice(0, MAX_LINES);
}

const [RESERVE, RELEASE] = [MEMORY_ACTIONS.indexOf('reserve'), MEMORY_ACTIONS.indexOf('release')];

/** Sums of allocated and reserved bytes after each event. */
class Sums {
  readonly #device: DeviceMemory;
  /** Bytes by kind before the first event. */
  readonly #before: Float64Array;
  /** What each event adds, and its kind. */
  readonly #change: Float64Array;
  readonly #kind: Int8Array;
  /** Bytes of activations that are kept from an event on, because their step is over. */
  readonly #kept = new Map<number, number>();
  readonly #reserved: Float64Array;
  readonly peak: number;
  /** -1: before the first event. */
  readonly peakAt: number;

  constructor(
    device: DeviceMemory,
    all: readonly Allocation[],
    kinds: readonly MemoryKind[],
    keptFrom: readonly number[],
  ) {
    const events = device.action.length;
    this.#device = device;
    this.#before = new Float64Array(MEMORY_KINDS.length);
    this.#change = new Float64Array(events);
    this.#kind = new Int8Array(events);
    for (const [i, { start, end, bytes }] of all.entries()) {
      const kind = MEMORY_KINDS.indexOf(kinds[i]!);
      const kept = keptFrom[i]!;
      if (kept < events) this.#kept.set(kept, (this.#kept.get(kept) ?? 0) + bytes);
      if (start < 0) this.#before[kind]! += bytes;
      else {
        this.#change[start]! += bytes;
        this.#kind[start] = kind;
      }
      // An allocation whose free was not recorded ends where the next one begins: both change the same event.
      if (end < events && device.action[end] !== MEMORY_ACTIONS.indexOf('alloc')) {
        this.#change[end]! -= bytes;
        this.#kind[end] = kept < events ? MEMORY_KINDS.indexOf(KEPT) : kind;
      }
    }
    this.#reserved = this.#reservedSums();
    let sum = this.#before.reduce((a, b) => a + b, 0);
    let [peak, peakAt] = [sum, -1];
    for (let i = 0; i < events; i++) {
      sum += this.#change[i]!;
      if (sum > peak) [peak, peakAt] = [sum, i];
    }
    this.peak = peak;
    this.peakAt = peakAt;
  }

  reservedAt(event: number): number {
    return this.#reserved[event + 1]!;
  }

  /** The end is known, so it is counted backwards. */
  #reservedSums(): Float64Array {
    const { action, size, segments } = this.#device;
    const sums = new Float64Array(action.length + 1);
    let sum = segments.reduce((total, s) => total + s.size, 0);
    for (let i = action.length; i >= 0; i--) {
      sums[i] = Math.max(0, sum);
      const before = i - 1;
      if (before < 0) break;
      if (action[before] === RESERVE) sum -= size[before]!;
      if (action[before] === RELEASE) sum += size[before]!;
    }
    return sums;
  }

  overTime(): MemoryOverTime {
    const events = this.#change.length;
    const slices = Math.min(MAX_SLICES, events + 1);
    const first = this.#device.timeUs[0] ?? Number.NaN;
    const now = Float64Array.from(this.#before);
    const kinds = MEMORY_KINDS.map(() => [] as number[]);
    const [seconds, reserved]: [number[], number[]] = [[], []];
    let sum = now.reduce((a, b) => a + b, 0);
    let i = 0;
    for (let slice = 0; slice < slices; slice++) {
      const end = Math.round(((slice + 1) / slices) * events);
      let [most, at] = [sum, i - 1];
      let held = Float64Array.from(now);
      for (; i < end; i++) {
        const moved = this.#kept.get(i) ?? 0;
        now[MEMORY_KINDS.indexOf('activations')]! -= moved;
        now[MEMORY_KINDS.indexOf(KEPT)]! += moved;
        now[this.#kind[i]!]! += this.#change[i]!;
        sum += this.#change[i]!;
        if (sum > most) {
          [most, at] = [sum, i];
          held = Float64Array.from(now);
        }
      }
      const time = (this.#device.timeUs[Math.max(0, at)] ?? Number.NaN) - first;
      seconds.push(Number.isFinite(time) ? time / 1e6 : at + 1);
      reserved.push(this.reservedAt(Math.max(-1, at)));
      for (const [k, list] of kinds.entries()) list.push(held[k]!);
    }
    return { seconds, reserved, kinds };
  }
}
