import { type Spans, SpanUnion } from '../../base/intervals.js';
import type { Trace } from '../../model/trace.js';
import type { GpuWork } from './gpu-work.js';
import type { HostSpans } from './host-spans.js';

/** The device's idle time by what held back the next work. */
export interface IdleSpans {
  readonly idle_data: Spans;
  readonly idle_compile: Spans;
  readonly idle_comms: Spans;
  readonly idle_sync: Spans;
  readonly idle_host: Spans;
  readonly idle_other: Spans;
}

/**
 * Idle time is the fault of what delayed the next work: what the launching thread did until it launched it. From the
 * launch on it is the launch's own latency; a gap before work that was queued already is nobody's on the host.
 */
export function blameGaps(trace: Trace, work: GpuWork, host: HostSpans, gaps: Spans): IdleSpans {
  const { ts } = trace.data;
  const waits = inOneList(host);
  const into = [new SpanUnion(), new SpanUnion(), new SpanUnion(), new SpanUnion()];
  const hostTime = new SpanUnion();
  const other = new SpanUnion();
  let next = 0;
  let wait = 0;
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
    while (wait < waits.length && waits.end[wait]! <= start) wait++;
    // From one known wait to the next; what lies between is the host's own work.
    let from = start;
    for (let w = wait; from < until; w++) {
      const waitStart = w < waits.length ? Math.min(until, Math.max(from, waits.start[w]!)) : until;
      addHost(from, waitStart);
      if (waitStart === until) break;
      from = Math.min(until, waits.end[w]!);
      into[waits.kind[w]!]!.add(waitStart, from);
    }
    hostTime.add(until, end);
  }
  /** Python between operators is the host's too; outside everything recorded nothing is known. */
  function addHost(from: number, to: number): void {
    const recordedFrom = Math.min(to, Math.max(from, host.from));
    const recordedTo = Math.max(recordedFrom, Math.min(to, host.to));
    other.add(from, recordedFrom);
    hostTime.add(recordedFrom, recordedTo);
    other.add(recordedTo, to);
  }
  const [idle_data, idle_compile, idle_comms, idle_sync] = into.map((spans) => spans.finish());
  return {
    ...{ idle_data: idle_data!, idle_compile: idle_compile!, idle_comms: idle_comms!, idle_sync: idle_sync! },
    ...{ idle_host: hostTime.finish(), idle_other: other.finish() },
  };
}

/** The four kinds of waits, which do not overlap, as one list in order of time. */
function inOneList({ waits }: HostSpans) {
  const lists = [waits.data, waits.compile, waits.comms, waits.sync];
  const length = lists.reduce((n, l) => n + l.length, 0);
  const merged = {
    ...{ length, kind: new Uint8Array(length) },
    ...{ start: new Float64Array(length), end: new Float64Array(length) },
  };
  const at = [0, 0, 0, 0];
  for (let i = 0; i < length; i++) {
    let first = -1;
    for (let k = 0; k < lists.length; k++) {
      if (at[k]! >= lists[k]!.length) continue;
      if (first < 0 || lists[k]!.start[at[k]!]! < lists[first]!.start[at[first]!]!) first = k;
    }
    merged.kind[i] = first;
    merged.start[i] = lists[first]!.start[at[first]!]!;
    merged.end[i] = lists[first]!.end[at[first]!++]!;
  }
  return merged;
}
