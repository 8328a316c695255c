import { inBlocks } from '../../base/blocks.js';
import {
  CoverageCursor,
  clip,
  gapsOf,
  lengthOf,
  NO_SPANS,
  type Spans,
  SpanUnion,
  subtract,
  union,
} from '../../base/intervals.js';
import { TIME_CLASSES, type TimeByClass, type TimeClass, totals, WorkSort } from '../../facts/time-class.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKinds } from '../kernels/kernel-kind.js';
import type { GpuWork } from './gpu-work.js';
import type { HostSpans } from './host-spans.js';
import { workSorts } from './work-sorts.js';

export interface Accounting {
  /** When each class ran. Together they cover the window exactly, without overlap. */
  readonly spans: Readonly<Record<TimeClass, Spans>>;
  /** ns of the window. */
  readonly total: TimeByClass;
  /** Exposed copies by direction, in ns: those to the device are input, those to the host are host time. */
  readonly copies: { readonly toDevice: number; readonly toHost: number };
}

/** Divides [from, to] by what the device did, and its idle time by what delayed the next work. */
export function accountTime(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  host: HostSpans,
  from: number,
  to: number,
): Accounting {
  const busy = busySpans(trace, work, kinds, from, to);
  const covered = union(busy.compute, busy.comms);
  const copies = union(union(busy.toDevice, busy.toHost), busy.move);
  const spans = {
    compute: busy.compute,
    comms_transfer: subtract(busy.comms, busy.compute),
    comms_wait: NO_SPANS,
    copy: subtract(copies, covered),
    ...blameGaps(trace, work, host, gapsOf(union(covered, copies), from, to)),
  };
  const exposed = (s: Spans) => lengthOf(subtract(s, covered));
  return {
    spans,
    total: totals((c) => lengthOf(spans[c])),
    copies: { toDevice: exposed(busy.toDevice), toHost: exposed(busy.toHost) },
  };
}

/** The same for a job without GPU. Operators on the training threads (their union) compute; time between them is host time. */
export function accountHostTime(operators: Spans, host: HostSpans, from: number, to: number): Accounting {
  const { waits } = host;
  const waiting = union(union(waits.data, waits.compile), waits.comms);
  const spans = {
    compute: clip(subtract(operators, waiting), from, to),
    comms_transfer: clip(waits.comms, from, to),
    comms_wait: NO_SPANS,
    copy: NO_SPANS,
    idle_data: clip(waits.data, from, to),
    idle_sync: NO_SPANS,
    idle_compile: clip(waits.compile, from, to),
    idle_comms: NO_SPANS,
    idle_host: gapsOf(union(operators, waiting), from, to),
    idle_other: NO_SPANS,
  };
  return { spans, total: totals((c) => lengthOf(spans[c])), copies: { toDevice: 0, toHost: 0 } };
}

/** Time by class for consecutive parts of the window, e.g. steps. Bounds ascend. */
export function accountParts({ spans }: Accounting, bounds: readonly number[]): TimeByClass[] {
  const cursors = new Map(TIME_CLASSES.map((c) => [c, new CoverageCursor(spans[c])]));
  return bounds.slice(1).map((end, i) => totals((c) => cursors.get(c)!.covered(bounds[i]!, end)));
}

/** When the device ran work of each sort, within [from, to]. */
function busySpans(
  trace: Trace,
  work: GpuWork,
  kinds: KernelKinds,
  from: number,
  to: number,
): Readonly<Record<keyof typeof WorkSort, Spans>> {
  const { name } = trace.data;
  const sorts = workSorts(kinds);
  const unions = Array.from(Object.values(WorkSort), () => new SpanUnion());
  inBlocks(work.length, (first, last) => {
    for (let i = first; i < last; i++) {
      const sort = sorts[name[work.row[i]!]!]!;
      unions[sort]!.add(Math.max(from, work.start[i]!), Math.min(to, work.end[i]!));
    }
  });
  const spansOf = (sort: number) => unions[sort]!.finish();
  return {
    compute: spansOf(WorkSort.compute),
    comms: spansOf(WorkSort.comms),
    toDevice: spansOf(WorkSort.toDevice),
    toHost: spansOf(WorkSort.toHost),
    move: spansOf(WorkSort.move),
  };
}

type IdleClass = Extract<TimeClass, `idle_${string}`>;

/**
 * The longest time from the end of a launch call to the start of its work on an idle device. On Linux it is a few µs (46,000
 * launches of the zoo, H200, profiler attached: 99.9% within 4 µs, all within 16), but Windows submits launches in batches, 0.3 ms
 * apart. Work that starts later waited for something that was not recorded.
 */
const LAUNCH_LATENCY = 1_000_000;
/** How long a synchronizing call may go on after the device has finished: the host thread has to wake up. */
const WAKE_UP = 1_000_000;

/**
 * Divides the device's idle time by what delayed the next work: what the launching thread did up to the launch, and then the
 * launch itself. The host is not to blame for a gap before work that was already queued, nor for a call that waits for the
 * device while no work is recorded there: another process or unrecorded work has the device.
 */
function blameGaps(
  trace: Trace,
  work: GpuWork,
  host: HostSpans,
  gaps: Spans,
): Readonly<Record<IdleClass, Spans>> {
  const { ts, dur } = trace.data;
  const waits = inOrderOfTime(host);
  const into = {
    idle_data: new SpanUnion(),
    idle_compile: new SpanUnion(),
    idle_comms: new SpanUnion(),
    idle_sync: new SpanUnion(),
    idle_host: new SpanUnion(),
    idle_other: new SpanUnion(),
  };
  let next = 0;
  let wait = 0;
  for (let g = 0; g < gaps.length; g++) {
    const start = gaps.start[g]!;
    const end = gaps.end[g]!;
    while (next < work.length && work.start[next]! < end) next++;
    const launchRow = next < work.length ? work.launchRow[next]! : -1;
    // After the last work, and before work without a recorded launch, the whole gap is the host's.
    const launched = launchRow < 0 ? end : ts[launchRow]!;
    if (launched <= start) {
      into.idle_other.add(start, end);
      continue;
    }
    const until = Math.min(end, launched);
    while (wait < waits.length && waits[wait]!.end <= start) wait++;
    // From one known wait to the next. What is between them is the host's own work.
    let from = start;
    for (let w = wait; from < until; w++) {
      const waitStart = w < waits.length ? Math.min(until, Math.max(from, waits[w]!.start)) : until;
      addHost(from, waitStart);
      if (waitStart === until) break;
      from = Math.min(until, waits[w]!.end);
      addWait(waits[w]!.class, waitStart, from);
    }
    const issued = launchRow < 0 ? end : launched + Math.max(0, dur[launchRow]!) + LAUNCH_LATENCY;
    into.idle_host.add(until, Math.min(end, issued));
    into.idle_other.add(Math.min(end, issued), end);
  }

  function addWait(kind: IdleClass, from: number, to: number): void {
    const explained = kind === 'idle_sync' ? Math.min(to, from + WAKE_UP) : to;
    into[kind].add(from, explained);
    into.idle_other.add(explained, to);
  }

  /** Host time, except before the first and after the last recorded host event, where nothing is known. */
  function addHost(from: number, to: number): void {
    const recordedFrom = Math.min(to, Math.max(from, host.from));
    const recordedTo = Math.max(recordedFrom, Math.min(to, host.to));
    into.idle_other.add(from, recordedFrom);
    into.idle_host.add(recordedFrom, recordedTo);
    into.idle_other.add(recordedTo, to);
  }

  const finished = Object.entries(into).map(([name, spans]) => [name, spans.finish()]);
  return Object.fromEntries(finished) as Record<IdleClass, Spans>;
}

/** All waits, which do not overlap, in one list. */
function inOrderOfTime({ waits }: HostSpans) {
  const listOf = (name: IdleClass, { start, end }: Spans) =>
    Array.from(start, (from, i) => ({ class: name, start: from, end: end[i]! }));
  return [
    ...listOf('idle_data', waits.data),
    ...listOf('idle_compile', waits.compile),
    ...listOf('idle_comms', waits.comms),
    ...listOf('idle_sync', waits.sync),
  ].sort((a, b) => a.start - b.start);
}
