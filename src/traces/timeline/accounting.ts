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
import { type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import { WorkSort } from '../../facts/work-sort.js';
import type { Trace } from '../../model/trace.js';
import type { KernelKind } from '../kernels/kernel-kind.js';
import { blameGaps } from './blame.js';
import type { GpuWork } from './gpu-work.js';
import type { HostSpans } from './host-spans.js';
import { workSorts } from './work-sorts.js';

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
  const sorts = workSorts(kinds);
  const unions = {
    ...{ compute: new SpanUnion(), comms: new SpanUnion(), copy: new SpanUnion() },
    ...{ toDevice: new SpanUnion(), toHost: new SpanUnion() },
  };
  for (let i = 0; i < work.length; i++) {
    const start = Math.max(from, work.start[i]!);
    const end = Math.min(to, work.end[i]!);
    if (!(end > start)) continue;
    const sort = sorts[name[work.row[i]!]!]!;
    if (sort === WorkSort.compute) unions.compute.add(start, end);
    else if (sort === WorkSort.comms) unions.comms.add(start, end);
    else {
      unions.copy.add(start, end);
      if (sort === WorkSort.toDevice) unions.toDevice.add(start, end);
      else if (sort === WorkSort.toHost) unions.toHost.add(start, end);
    }
  }
  return {
    ...{ compute: unions.compute.finish(), comms: unions.comms.finish(), copy: unions.copy.finish() },
    ...{ toDevice: unions.toDevice.finish(), toHost: unions.toHost.finish() },
  };
}
