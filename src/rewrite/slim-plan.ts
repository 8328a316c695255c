import { InputError } from '../base/input-error.js';
import type { ProblemLog } from '../base/problem.js';
import { viewTrace } from '../diagnosis/ranks/rank-view.js';
import type { StepRange } from '../facts/step-facts.js';
import type { Trace } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import type { StepTime } from '../traces/timeline/step-times.js';
import { stepTimesOf } from '../traces/whole-timeline.js';
import { TraceTimes } from './event-text.js';
import type { KeptPart } from './keep-events.js';
import { findOverlaps, type Overlaps } from './overlaps.js';
import { TraceIndex } from './trace-index.js';

/** Where the times of a rewritten trace count from. */
export interface Origin {
  /** ns since 1970, for the field that Kineto has for this. */
  readonly baseTimeNanoseconds: bigint;
  /** ns from there to the base of the trace. */
  readonly toBase: number;
}

const DAY_NS = 86_400_000_000_000n;
const SECOND_NS = 1_000_000_000n;

/**
 * Perfetto reads times as doubles, which hold µs since 1970 to 0.25 µs: calls that nest seem to overlap then. Such times count from
 * a second of the day before instead, as in traces of newer versions of torch. Null: a double holds the times as they are.
 */
function originOf({ baseNs, ts, header }: TraceData): Origin | null {
  if (baseNs <= BigInt(Number.MAX_SAFE_INTEGER)) return null;
  const rest = Number(baseNs % 1000n);
  // Whole µs are read as integers.
  if (!ts.some((time) => (time + rest) % 1000 !== 0 && !Number.isNaN(time))) return null;
  // Some events may be before the base.
  const shift = ((baseNs - DAY_NS) / SECOND_NS) * SECOND_NS;
  return {
    baseTimeNanoseconds: shift + BigInt(header.baseTimeNanoseconds ?? '0'),
    toBase: Number(baseNs - shift),
  };
}

/** Formats of the PyTorch profiler. What is no JSON is written from the columns. */
const REWRITABLE = ['kineto', 'perfetto'] as const;
export type RewritableKind = (typeof REWRITABLE)[number];
export const isRewritable = <T extends { readonly kind: string; readonly isPart?: boolean }>(
  of: T,
): of is T & { readonly kind: RewritableKind } =>
  !of.isPart && (REWRITABLE as readonly string[]).includes(of.kind);

/** What is needed from the columns of a trace to write a part of it. */
export interface SlimPlan {
  readonly kind: RewritableKind;
  readonly index: TraceIndex;
  /** Categories of its events, as the file names them. */
  readonly categories: readonly string[];
  readonly overlaps: Overlaps;
  readonly times: TraceTimes;
  /** Null: times stay as they are written. */
  readonly origin: Origin | null;
  /** Events are missing. */
  readonly isCut: boolean;
  /** The step without the profiler, as a share of the recorded one. Null: not known. */
  readonly unprofiled: number | null;
  /** The steps asked for, or all. Empty: the trace has none, or nobody asked. */
  readonly steps: readonly StepTime[];
  /** No steps were named, so what is between and around them is wanted too. */
  readonly isWhole: boolean;
  /** The step before them. Null: not recorded. */
  readonly before: StepTime | null;
}

/** What the recording cost is estimated from may be left out. */
function unprofiledShareOf(trace: Trace): number | null {
  const facts = analyzeTrace(trace, { steps: null });
  if (!facts?.hasHostEvents) return null;
  const { unprofiled, recorded } = viewTrace(0, facts, null).step;
  const left = unprofiled / recorded;
  return left > 0 && left <= 1 ? Math.round(left * 1e4) / 1e4 : null;
}

/**
 * Throws InputError when none of the steps was recorded. `needsSteps`: steps are wanted even if none are named. `mayDrop`: whole
 * categories of events may be left out.
 */
export function planSlim(
  trace: Trace,
  kind: RewritableKind,
  range: StepRange | null,
  needsSteps: boolean,
  mayDrop = false,
): SlimPlan {
  const shared = {
    kind,
    index: new TraceIndex(trace),
    categories: [...new Set(trace.data.kinds.map((k) => k.categoryName))],
    overlaps: findOverlaps(trace.data),
    times: new TraceTimes(trace.data.baseNs),
    origin: originOf(trace.data),
    isCut: trace.data.isCut,
    unprofiled: mayDrop ? unprofiledShareOf(trace) : null,
    isWhole: range === null,
  };
  if (!range && !needsSteps) return { ...shared, steps: [], before: null };
  const all = stepTimesOf(trace);
  if (!all || all.source === 'window') {
    if (!range) return { ...shared, steps: [], before: null };
    throw new InputError('the trace has no steps to choose from; leave out --steps');
  }
  const isWanted = ({ index }: StepTime) =>
    index >= (range?.first ?? Number.NEGATIVE_INFINITY) && index <= (range?.last ?? Number.POSITIVE_INFINITY);
  const first = all.steps.findIndex(isWanted);
  if (first < 0) {
    const [low, high] = [all.steps[0]!.index, all.steps.at(-1)!.index];
    throw new InputError(`none of these steps was recorded; steps ${low} to ${high} were`);
  }
  return { ...shared, steps: all.steps.filter(isWanted), before: all.steps[first - 1] ?? null };
}

/** Notes names of `--drop` that no event has: they may be misspelled. */
export function noteUnknown(
  drop: Iterable<string>,
  categories: ReadonlySet<string>,
  problems: ProblemLog,
): void {
  const unknown = [...drop].filter((name) => !categories.has(name));
  if (unknown.length === 0) return;
  const known = [...categories].filter((name) => name !== '').sort();
  problems.add('unknown-category', {
    message: `no event is of category ${unknown.join(', ')}`,
    consequence: `nothing was left out for it; the categories here are ${known.join(', ')}`,
  });
}

/** The first `count` of the steps. The step before them comes along: what the first one waits for is in it. */
export function partOf(
  { steps, before, isWhole }: SlimPlan,
  count: number,
  drop: ReadonlySet<string>,
): KeptPart {
  if (steps.length === 0 || (isWhole && count >= steps.length)) {
    const [from, to] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    return { from, to, deviceTo: to, first: from, last: to, drop };
  }
  const start = before ?? steps[0]!;
  const end = steps[Math.min(count, steps.length) - 1]!;
  return {
    from: start.hostStart,
    to: end.hostEnd,
    deviceTo: end.frontier,
    first: start.index,
    last: end.index,
    drop,
  };
}
