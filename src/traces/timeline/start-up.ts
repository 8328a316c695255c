import { groupBy } from '../../base/group-by.js';
import {
  clip,
  lengthOf,
  type Spans,
  SpanUnion,
  subtract,
  union,
  unionOf,
  unionOfSpans,
} from '../../base/intervals.js';
import { lowerBound } from '../../base/search.js';
import { largest, median, smallest } from '../../base/statistics.js';
import type { Ns, Share } from '../../base/units.js';
import { Category } from '../../model/category.js';
import { SYNCHRONIZES } from '../../model/host-names.js';
import type { Trace } from '../../model/trace.js';
import type { KindInfo } from '../../model/trace-data.js';
import type { GpuWork } from './gpu-work.js';
import { COMPILE_SPAN, type HostSpans } from './host-spans.js';
import type { StepTimes } from './step-times.js';

/** Work that a job does once: creating a context, loading code, starting cuBLAS and NCCL, compiling, capturing a graph. */
export interface StartUp {
  /** In all. */
  readonly time: Ns;
  /** How many of the first steps are left out because of it. */
  readonly steps: number;
  /** Its share of what figures are over: it could not be separated from the rest. */
  readonly left: Share;
}

/** A call that takes less does not count as start-up, whatever it does. */
const LEAST_CALL = 300_000;
/** A first call that takes this many times as long as the later ones loads or creates something. */
const FIRST_CALL = 20;
/** Calls that are made once or twice have no usual length. Longer ones are start-up: such calls take microseconds. */
const FEW_CALLS = 3;
const LONG_FEW = 1_000_000;
/** Start-up that takes this part of a step or window distorts the figures about it. */
export const SIZEABLE = 0.2;

const ALWAYS_START_UP =
  /^(?:cuda|cu|hip)(?:Init|\w*ModuleLoad|\w*LibraryLoad|\w*CtxCreate|DevicePrimaryCtx|GraphInstantiate|\w*GetStreamPriorityRange$|SetDevice$)|ncclCommInit|c10d::init/i;
/** Their length depends on what they wait for. */
const WAITS =
  /^aten::(?:copy_|to|_to_copy|item|_local_scalar_dense|nonzero|is_nonzero|equal|pin_memory|_pin_memory)$|DataLoader/;
const BEGINS_CAPTURE = /StreamBeginCapture/;
const ENDS_CAPTURE = /StreamEndCapture|GraphInstantiate/;

const isCall = (k: KindInfo) =>
  k.phase === 'X' &&
  (k.category === Category.cpuOp || k.category === Category.runtime || k.category === Category.driver);

/** When the training threads do something that later steps do not do again. */
export function startUpSpans(trace: Trace, host: HostSpans): Spans {
  const { ts, dur, track, name } = trace.data;
  const calls = trace.index.ofKinds(isCall).filter((row) => host.threads.includes(track[row]!));
  const long = calls.filter((row) => dur[row]! >= LEAST_CALL && !isWait(trace.name(row)));
  const namesOfLong = new Set(Array.from(long, (row) => name[row]!));
  const byName = groupBy(Array.from(calls.filter((row) => namesOfLong.has(name[row]!))), (row) => name[row]!);
  const usual = new Map([...byName].map(([id, rows]) => [id, median(rows.map((row) => dur[row]!))]));
  // Kernels are loaded when they are first launched, so any launch may be the first of its kernel. An operator that has taken its
  // usual time before is not started up later: something else held it up, such as another process on its core.
  const firstUsual = new Map(
    [...byName].map(([id, rows]) => [
      id,
      smallest(rows.filter((row) => dur[row]! < FIRST_CALL * usual.get(id)!).map((row) => ts[row]!)),
    ]),
  );
  const isFirst = (row: number) => {
    const rows = byName.get(name[row]!)!;
    if (ALWAYS_START_UP.test(trace.name(row))) return true;
    const isOperator = trace.category(row) === Category.cpuOp;
    if (rows.length < FEW_CALLS) return dur[row]! >= LONG_FEW && !isOperator;
    if (isOperator && ts[row]! > firstUsual.get(name[row]!)!) return false;
    return dur[row]! >= FIRST_CALL * usual.get(name[row]!)!;
  };
  const once = unionOf(Array.from(long.filter(isFirst), (row) => [ts[row]!, ts[row]! + dur[row]!] as const));
  return union(union(once, unionOfSpans(host.ofKind(COMPILE_SPAN))), captures(trace, calls));
}

const isWait = (text: string) => SYNCHRONIZES.test(text) || WAITS.test(text);

/** From the beginning to the end of each capture of a CUDA graph. */
function captures(trace: Trace, calls: Uint32Array): Spans {
  const { ts, dur } = trace.data;
  const spans: (readonly [number, number])[] = [];
  let begun = Number.NaN;
  for (const row of calls.toSorted((a, b) => ts[a]! - ts[b]!)) {
    const text = trace.name(row);
    if (BEGINS_CAPTURE.test(text)) begun = ts[row]!;
    else if (ENDS_CAPTURE.test(text) && !Number.isNaN(begun)) {
      spans.push([begun, ts[row]! + Math.max(0, dur[row]!)]);
      begun = Number.NaN;
    }
  }
  return unionOf(spans);
}

/** A step that takes this many times the usual one, with start-up in it, is not one of the usual steps. */
const FAR_LONGER = 1.5;

/** It must explain this part of the difference: a first batch may be late too. */
const EXPLAINED = 0.5;

/** After start-up, caches and the allocator still grow: a step this much longer than all later ones belongs to it. */
const WARMING_UP = 1.15;

/** The first steps that are not usual ones. */
export interface ColdSteps {
  /** So many are start-up: longer than later ones, because of work that is not done again. */
  readonly startUp: number;
  /** The next one is not, but still longer. */
  readonly thenWarmsUp: boolean;
}
export const NOT_COLD: ColdSteps = { startUp: 0, thenWarmsUp: false };

/** `input`: waits for it. */
export function coldSteps(times: StepTimes, spans: Spans, input: Spans): ColdSteps {
  const { steps, begin } = times;
  const starts = [begin, ...steps.map((s) => s.frontier)];
  const lengths = steps.map((s, i) => s.frontier - starts[i]!);
  const startUp = stepsWithStartUp(times, lengths, spans, input);
  const later = lengths.slice(startUp + 1);
  if (startUp === 0 || later.length === 0) return { startUp, thenWarmsUp: false };
  const next = lengths[startUp]!;
  const waited = lengthOf(clip(input, starts[startUp]!, steps[startUp]!.frontier));
  // A wait for input may come back, and so may a length that a later step has too.
  const thenWarmsUp =
    next > WARMING_UP * median(later) && next > largest(later) && waited < EXPLAINED * (next - median(later));
  return { startUp, thenWarmsUp };
}

function stepsWithStartUp(
  { steps, begin, source }: StepTimes,
  lengths: readonly number[],
  spans: Spans,
  input: Spans,
): number {
  const starts = [begin, ...steps.map((s) => s.frontier)];
  let cold = 0;
  while (cold < steps.length - 1) {
    const usual = median(lengths.slice(cold + 1));
    const inStep = lengthOf(clip(spans, starts[cold]!, steps[cold]!.frontier));
    if (lengths[cold]! < FAR_LONGER * usual) break;
    // Optimizers mark ends only: the first step may begin with all that the job does before its loop.
    const waited = lengthOf(clip(input, starts[cold]!, steps[cold]!.frontier));
    const beginsUnmarked =
      source === 'optimizer' && cold === 0 && waited < EXPLAINED * (lengths[cold]! - usual);
    if (!beginsUnmarked && inStep < EXPLAINED * (lengths[cold]! - usual)) break;
    cold++;
  }
  return cold;
}

/**
 * Start-up per step that every usual step has: a loop that compiles in each step, for instance, is not starting up. Of two steps
 * it must be in both.
 */
export function recurring(spans: Spans, { begin, steps }: StepTimes): number {
  const bounds = [begin, ...steps.map((s) => s.frontier)];
  const each = steps.map((s, i) => lengthOf(clip(spans, bounds[i]!, s.frontier)));
  if (each.length < 2) return 0;
  return each.length === 2 ? smallest(each) : median(each);
}

/**
 * Where a recording without steps begins to show the job: after its start-up, if at least half of the launches come later.
 * Until the first launch nothing shows what the device is for.
 */
export function beginOf(work: GpuWork, launches: Float64Array, spans: Spans, from: number): number {
  const first = launches[0] ?? from;
  const inside = clip(spans, from, Number.POSITIVE_INFINITY);
  const end = inside.length === 0 ? first : inside.end[inside.length - 1]!;
  const later = launches.length - lowerBound(launches, end);
  return Math.max(from, work.length > 0 && 2 * later >= launches.length ? Math.max(first, end) : first);
}

/** Start-up during which the device has nothing to do. */
export const whileIdle = (spans: Spans, work: GpuWork): Spans => {
  const busy = new SpanUnion();
  for (let i = 0; i < work.length; i++) busy.add(work.start[i]!, work.end[i]!);
  return subtract(spans, busy.finish());
};
