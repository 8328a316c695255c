import { Category } from '../model/category.js';
import { kindMask, type Trace } from '../model/trace.js';
import type { DeviceInfo, DistributedInfo } from '../model/trace-data.js';

/** What is in a trace, small enough to pass between threads and to print. */
export interface TraceSummary {
  readonly events: number;
  readonly rows: number;
  /** Events by phase and category, as the file names them, most frequent first. */
  readonly categories: readonly CategoryCount[];
  readonly devices: readonly DeviceInfo[];
  readonly distributed: DistributedInfo | null;
  readonly hostName: string | null;
  readonly versions: Readonly<Record<string, string>>;
  readonly switches: readonly string[];
  readonly steps: readonly StepSummary[];
  readonly gpuWork: number;
  readonly streams: number;
  readonly tracks: number;
  readonly strings: number;
  readonly window: TimeWindow;
}

export interface CategoryCount {
  readonly phase: string;
  readonly category: string;
  readonly events: number;
}

export interface StepSummary {
  readonly index: number;
  /** Of the host's span; the GPU may take longer. */
  readonly hostMs: number;
}

export interface TimeWindow {
  /** From the first event's start to the last one's end. */
  readonly ms: number;
  /** Nanoseconds since 1970; null where the trace counts from somewhere else. */
  readonly startNs: bigint | null;
  readonly endNs: bigint | null;
}

export function summariseTrace(trace: Trace): TraceSummary {
  const { data } = trace;
  const categories = data.kinds
    .map((k) => ({ phase: k.phase, category: k.categoryName, events: k.events }))
    .filter((k) => k.events > 0)
    .sort((a, b) => b.events - a.events);
  return {
    events: data.kinds.reduce((n, k) => n + k.events, 0),
    rows: data.rows,
    categories,
    devices: data.header.devices,
    distributed: data.header.distributed,
    hostName: data.header.hostName,
    versions: data.header.versions,
    switches: data.header.switches,
    steps: trace.steps.map((s) => ({ index: s.index, hostMs: (s.endNs - s.startNs) / 1e6 })),
    gpuWork: trace.links.work.length,
    streams: streamCount(trace),
    tracks: data.tracks.length,
    strings: trace.strings.size - 1,
    window: timeWindow(trace),
  };
}

function streamCount(trace: Trace): number {
  const seen = new Uint8Array(trace.data.tracks.length);
  const { work } = trace.links;
  for (let i = 0; i < work.length; i++) seen[trace.data.track[work[i]!]!] = 1;
  return seen.reduce((n, s) => n + s, 0);
}

/** Microseconds since 1970 have passed this (2001); smaller times count from something else. */
const EPOCH_LIKE_NS = 1_000_000_000_000_000_000n;

function timeWindow(trace: Trace): TimeWindow {
  const { data } = trace;
  const counts = kindMask(data, (c, phase) => phase !== 'M' && c !== Category.span && c !== Category.flow);
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < data.rows; row++) {
    if (counts[data.kind[row]!] === 0) continue;
    const ts = data.ts[row]!;
    const end = ts + data.dur[row]!;
    if (ts < first) first = ts;
    if (end > last) last = end;
  }
  if (!(last >= first)) return { ms: 0, startNs: null, endNs: null };
  const base = data.baseNs + BigInt(data.header.baseTimeNanoseconds ?? 0);
  const startNs = base + BigInt(Math.round(first));
  const known = startNs > EPOCH_LIKE_NS;
  const ms = (last - first) / 1e6;
  return { ms, startNs: known ? startNs : null, endNs: known ? base + BigInt(Math.round(last)) : null };
}
