import { lowerBound } from '../../base/search.js';
import { median } from '../../base/statistics.js';
import { Category } from '../../model/category.js';
import { RUNS_PARTS } from '../../model/host-names.js';
import type { Trace } from '../../model/trace.js';
import type { GpuWork } from './gpu-work.js';
import type { HostSpans } from './host-spans.js';

/** Fewer repetitions may be chance. */
const LEAST_REPEATS = 3;
/** Steps are alike if they share this part of their launches: batches may differ, and an evaluation may be among them. */
const ALIKE = 0.8;
/** From their beginning on, the repetitions cover this part of all launches. What comes before may be start-up. */
const MOST_LAUNCHES = 0.5;

/** What was launched in order of time. A CUDA graph is one launch. */
interface Launches {
  /** The kernel's name; of a graph, the call's. */
  readonly name: Int32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Hands data over between host and device, or launches a whole graph: layers inside a step do not. */
  readonly handsOver: Uint8Array;
  /** Computes: a loop of copies alone is no step. */
  readonly computes: Uint8Array;
}

/**
 * For a loop that marks no steps: times at which its sequence of launches begins again, and the end of the last one. The
 * longest sequence that repeats counts, because a step repeats its layers. Each repetition must hand data over or wait for the
 * device: otherwise it may be a layer. Layers of experts wait too, but they run inside one call of the model. Empty: nothing
 * shows what a step is.
 */
export function repeatedLaunches(trace: Trace, work: GpuWork, host: HostSpans): readonly number[] {
  const launches = inOrder(trace, work);
  let found: Repetition = { at: [], starts: [] };
  for (const at of candidates(launches.name)) {
    if (!areAlike(launches.name, at)) continue;
    if (!launches.computes.subarray(at[0], at[1]).includes(1)) continue;
    const from = widestGap(launches, at);
    const starts = at.map((index) => launches.end[index + from - 1] ?? launches.start[index]!);
    if (!handsOverInEach(launches, host, starts) || areParts(trace, starts)) break;
    if (found.at.length === 0 || isPartOf(found.at, at)) found = { at, starts };
  }
  return found.starts;
}

interface Repetition {
  readonly at: readonly number[];
  readonly starts: readonly number[];
}

/** Layers are not launched evenly: what surrounds them comes between the last of one step and the first of the next. */
const EVENLY = 0.03;

/**
 * Whether the longest sequence is several steps, which these positions begin: an attention kernel may change with every fourth token.
 * Then the steps are as far apart where the longer sequence begins as anywhere else.
 */
function isPartOf(longest: readonly number[], at: readonly number[]): boolean {
  const gaps = at.slice(1).map((index, i) => ({ from: at[i]!, to: index, length: index - at[i]! }));
  const usual = median(gaps.map((g) => g.length));
  const areEven = (some: typeof gaps) =>
    some.filter((g) => Math.abs(g.length - usual) <= EVENLY * usual).length >= ALIKE * some.length;
  const across = gaps.filter((g) => longest.some((index) => index > g.from && index <= g.to));
  return at.length >= 2 * longest.length - 1 && areEven(gaps) && areEven(across);
}

function inOrder(trace: Trace, work: GpuWork): Launches {
  const { ts, dur, name } = trace.data;
  const byCall = new Map<number, number[]>();
  for (let i = 0; i < work.length; i++) {
    const call = work.launchRow[i]!;
    if (call < 0) continue;
    const known = byCall.get(call);
    if (known) known.push(work.row[i]!);
    else byCall.set(call, [work.row[i]!]);
  }
  const calls = Float64Array.from(byCall.keys()).sort((a, b) => ts[a]! - ts[b]!);
  const rowsOf = (call: number) => byCall.get(call)!;
  const isHandover = (row: number) =>
    trace.category(row) === Category.memcpy && !/DtoD|PtoP/.test(trace.name(row));
  return {
    name: Int32Array.from(calls, (call) =>
      rowsOf(call).length > 1 ? -1 - name[call]! : name[rowsOf(call)[0]!]!,
    ),
    start: calls.map((call) => ts[call]!),
    end: calls.map((call) => ts[call]! + Math.max(0, dur[call]!)),
    computes: Uint8Array.from(calls, (call) =>
      Number(rowsOf(call).some((row) => trace.category(row) === Category.kernel)),
    ),
    handsOver: Uint8Array.from(calls, (call) =>
      Number(rowsOf(call).length > 1 || isHandover(rowsOf(call)[0]!)),
    ),
  };
}

/** Where names occur that are launched equally often and evenly: rarest first, which gives the longest period. */
function* candidates(name: Int32Array): Generator<readonly number[]> {
  const positions = new Map<number, number[]>();
  name.forEach((id, i) => {
    const known = positions.get(id);
    if (known) known.push(i);
    else positions.set(id, [i]);
  });
  const often = [...positions.values()].filter((at) => at.length >= LEAST_REPEATS);
  const tried = new Set<number>();
  for (const at of often.sort((a, b) => a.length - b.length)) {
    if (tried.has(at.length)) continue;
    const periods = at.slice(1).map((index, i) => index - at[i]!);
    const usual = median(periods);
    const even = periods.filter((p) => Math.abs(p - usual) <= 0.1 * usual).length;
    if (even < ALIKE * periods.length || at.length * usual < MOST_LAUNCHES * (name.length - at[0]!)) continue;
    tried.add(at.length);
    yield at;
  }
}

/** Whether most repetitions launch mostly the same. */
function areAlike(name: Int32Array, at: readonly number[]): boolean {
  const parts = at.slice(0, -1).map((from, i) => name.subarray(from, at[i + 1]!));
  const shared = parts
    .slice(1)
    .map((part, i) => inCommon(parts[i]!, part) / Math.max(part.length, parts[i]!.length));
  return median(shared) >= ALIKE;
}

function inCommon(a: Int32Array, b: Int32Array): number {
  const left = new Map<number, number>();
  for (const id of a) left.set(id, (left.get(id) ?? 0) + 1);
  let shared = 0;
  for (const id of b) {
    const n = left.get(id) ?? 0;
    if (n > 0) shared++;
    left.set(id, n - 1);
  }
  return shared;
}

/** The place in the sequence before which the host usually launches nothing for longest: there the loop begins again. */
function widestGap({ start, end }: Launches, at: readonly number[]): number {
  const length = median(at.slice(1).map((index, i) => index - at[i]!));
  let [best, widest] = [0, Number.NEGATIVE_INFINITY];
  for (let offset = 0; offset < length; offset++) {
    const gaps = at.map((index) => start[index + offset]! - (end[index + offset - 1] ?? Number.NaN));
    const gap = median(gaps);
    if (gap > widest) [best, widest] = [offset, gap];
  }
  return best;
}

/** Whether one call of a module, an operator or a compiled region runs several of them. */
function areParts({ data, index }: Trace, starts: readonly number[]): boolean {
  const { ts, dur } = data;
  const calls = index.named(
    (k) => k.phase === 'X' && (k.category === Category.pythonFunction || k.category === Category.cpuOp),
    (text) => RUNS_PARTS.test(text),
  );
  return calls.some((row) => {
    // Where a repetition begins is known only to a launch: one such time may be in a call that runs no whole repetition.
    const third = starts[lowerBound(starts, ts[row]!) + 2];
    return third !== undefined && third <= ts[row]! + dur[row]!;
  });
}

function handsOverInEach(
  { start, handsOver }: Launches,
  { waits }: HostSpans,
  starts: readonly number[],
): boolean {
  const seen = new Uint8Array(starts.length);
  const mark = (time: number) => {
    const s = starts.findLastIndex((from) => from <= time);
    if (s >= 0) seen[s] = 1;
  };
  start.forEach((time, i) => {
    if (handsOver[i] === 1) mark(time);
  });
  waits.sync.start.forEach(mark);
  waits.data.start.forEach(mark);
  return seen.slice(0, -1).filter(Boolean).length >= ALIKE * (starts.length - 1);
}
