import {
  CoverageCursor,
  clip,
  gapsOf,
  lengthOf,
  type Spans,
  SpanUnion,
  subtract,
  union,
} from '../../base/intervals.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKind } from '../kernels/kernel-kind.js';
import type { GpuWork } from './gpu-work.js';
import type { HostSpans } from './host-spans.js';

/** Every instant belongs to exactly one of these. The names are the report's. */
export const TIME_CLASSES = [
  ...(['compute', 'comms_transfer', 'comms_wait', 'copy'] as const),
  ...(['idle_data', 'idle_sync', 'idle_compile', 'idle_comms', 'idle_host', 'idle_other'] as const),
] as const;
export type TimeClass = (typeof TIME_CLASSES)[number];
export type TimeByClass = Readonly<Record<TimeClass, number>>;

export interface Accounting {
  readonly from: number;
  readonly to: number;
  /** When each class ran; together they cover the window exactly, without overlap. */
  readonly spans: Readonly<Record<TimeClass, Spans>>;
  /** ns of the window. */
  readonly total: TimeByClass;
  /** Part of `copy` by direction: exposed host-to-device copies are input, device-to-host ones the host's. */
  readonly copies: { readonly toDevice: number; readonly toHost: number };
}

/** Divides [from, to] by what the device did, and its idle time by what held back the next work. */
export function accountTime(
  trace: Trace,
  work: GpuWork,
  kinds: readonly (KernelKind | undefined)[],
  host: HostSpans,
  from: number,
  to: number,
): Accounting {
  const busy = busySpans(trace, work, kinds, from, to);
  const comms = subtract(busy.comms, busy.compute);
  const covered = union(busy.compute, busy.comms);
  const copy = subtract(busy.copy, covered);
  const idle = blameGaps(trace, work, host, gapsOf(union(covered, busy.copy), from, to));
  const none = clip(comms, 0, 0);
  const spans = { compute: busy.compute, comms_transfer: comms, comms_wait: none, copy, ...idle };
  const exposed = (s: Spans) => lengthOf(subtract(s, covered));
  return {
    from,
    to,
    spans,
    total: totals((c) => lengthOf(spans[c])),
    copies: { toDevice: exposed(busy.toDevice), toHost: exposed(busy.toHost) },
  };
}

/**
 * The same for a job without GPU: what computes are operators on the training threads; what lies between them is Python's.
 * `operators`: their union.
 */
export function accountHostTime(operators: Spans, host: HostSpans, from: number, to: number): Accounting {
  const { waits } = host;
  const waiting = union(union(waits.data, waits.compile), waits.comms);
  const compute = clip(subtract(operators, waiting), from, to);
  const none = clip(compute, 0, 0);
  const busy = union(operators, waiting);
  const spans = {
    ...{ compute, comms_transfer: clip(waits.comms, from, to), comms_wait: none, copy: none },
    ...{
      idle_data: clip(waits.data, from, to),
      idle_sync: none,
      idle_compile: clip(waits.compile, from, to),
    },
    ...{ idle_comms: none, idle_host: gapsOf(busy, from, to), idle_other: none },
  };
  return { from, to, spans, total: totals((c) => lengthOf(spans[c])), copies: { toDevice: 0, toHost: 0 } };
}

export function totals(of: (c: TimeClass) => number): TimeByClass {
  return Object.fromEntries(TIME_CLASSES.map((c) => [c, of(c)])) as unknown as TimeByClass;
}

/** The same for consecutive parts of the window, e.g. steps. Bounds ascend. */
export function accountParts(accounting: Accounting, bounds: readonly number[]): TimeByClass[] {
  const cursors = totals(() => 0) as Record<TimeClass, number>;
  const cursorOf = Object.fromEntries(
    Object.keys(cursors).map((c) => [c, new CoverageCursor(accounting.spans[c as TimeClass])]),
  ) as Record<TimeClass, CoverageCursor>;
  return bounds.slice(1).map((end, i) => totals((c) => cursorOf[c].covered(bounds[i]!, end)));
}

function busySpans(
  trace: Trace,
  work: GpuWork,
  kinds: readonly (KernelKind | undefined)[],
  from: number,
  to: number,
) {
  const { name } = trace.data;
  const unions = {
    ...{ compute: new SpanUnion(), comms: new SpanUnion(), copy: new SpanUnion() },
    ...{ toDevice: new SpanUnion(), toHost: new SpanUnion() },
  };
  for (let i = 0; i < work.length; i++) {
    const start = Math.max(from, work.start[i]!);
    const end = Math.min(to, work.end[i]!);
    if (!(end > start)) continue;
    const kind = kinds[name[work.row[i]!]!];
    if (kind?.class === 'comms') unions.comms.add(start, end);
    else if (kind?.source !== 'runtime') unions.compute.add(start, end);
    else {
      unions.copy.add(start, end);
      if (kind.copy?.direction === 'HtoD') unions.toDevice.add(start, end);
      else if (kind.copy?.direction === 'DtoH') unions.toHost.add(start, end);
    }
  }
  return {
    ...{ compute: unions.compute.finish(), comms: unions.comms.finish(), copy: unions.copy.finish() },
    ...{ toDevice: unions.toDevice.finish(), toHost: unions.toHost.finish() },
  };
}

/**
 * Idle time is the fault of what delayed the next work: what the launching thread did until it launched it. From the
 * launch on it is the launch's own latency; a gap before work that was queued already is nobody's on the host.
 */
function blameGaps(trace: Trace, work: GpuWork, host: HostSpans, gaps: Spans) {
  const { ts } = trace.data;
  const { waits } = host;
  const known = [
    [new SpanWalker(waits.data), new SpanUnion()],
    [new SpanWalker(waits.compile), new SpanUnion()],
    [new SpanWalker(waits.comms), new SpanUnion()],
    [new SpanWalker(waits.sync), new SpanUnion()],
  ] as const;
  const hostTime = new SpanUnion();
  const other = new SpanUnion();
  let next = 0;
  for (let g = 0; g < gaps.length; g++) {
    const start = gaps.start[g]!;
    const end = gaps.end[g]!;
    while (next < work.length && work.start[next]! < end) next++;
    const launchRow = next < work.length ? work.launchRow[next]! : -1;
    // After the last work, and before work whose launch was not recorded, the host is blamed up to the end.
    const launched = launchRow < 0 ? end : ts[launchRow]!;
    if (launched <= start) {
      other.add(start, end);
      continue;
    }
    const until = Math.min(end, launched);
    let from = start;
    // Walks from one known wait to the next; what lies between is the host's own work.
    while (from < until) {
      let first = -1;
      let firstStart = until;
      for (let k = 0; k < known.length; k++) {
        const at = known[k]![0].next(from);
        if (at < firstStart) {
          first = k;
          firstStart = at;
        }
      }
      addHost(from, firstStart);
      if (first < 0) break;
      const [walker, into] = known[first]!;
      const stop = Math.min(until, walker.end());
      into.add(firstStart, stop);
      from = stop;
    }
    hostTime.add(until, end);
  }
  /** Python between operators is the host's too; outside everything recorded nothing is known. */
  function addHost(from: number, to: number): void {
    const recordedFrom = Math.max(from, host.from);
    const recordedTo = Math.min(to, host.to);
    if (!(recordedTo > recordedFrom)) {
      other.add(from, to);
      return;
    }
    other.add(from, recordedFrom);
    hostTime.add(recordedFrom, recordedTo);
    other.add(recordedTo, to);
  }
  return {
    idle_data: known[0][1].finish(),
    idle_compile: known[1][1].finish(),
    idle_comms: known[2][1].finish(),
    idle_sync: known[3][1].finish(),
    idle_host: hostTime.finish(),
    idle_other: other.finish(),
  };
}

/** Walks through disjoint spans as time goes on. */
class SpanWalker {
  #at = 0;
  constructor(readonly spans: Spans) {}

  /** Start of the first span that ends after `from`, or `from` itself when inside one. Infinity: none. */
  next(from: number): number {
    const { start, end, length } = this.spans;
    while (this.#at < length && end[this.#at]! <= from) this.#at++;
    return this.#at < length ? Math.max(from, start[this.#at]!) : Number.POSITIVE_INFINITY;
  }

  /** End of the span found last. */
  end(): number {
    return this.spans.end[this.#at]!;
  }
}
