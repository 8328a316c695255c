import type { Trace } from '../model/trace.js';
import type { DeviceInfo, DistributedInfo } from '../model/trace-data.js';
import { type RecordedProcess, recordedProcess } from './recorded-process.js';

/** What is in a trace, for `whyslow inspect`. Plain data that moves between threads. */
export interface TraceSummary {
  readonly events: number;
  readonly rows: number;
  /** Events by phase and category, as the file names them, most frequent first. */
  readonly categories: readonly CategoryCount[];
  readonly devices: readonly DeviceInfo[];
  readonly distributed: DistributedInfo | null;
  readonly hostName: string | null;
  /** Name of the run, from whyslow's own capture. */
  readonly run: string | null;
  readonly versions: Readonly<Record<string, string>>;
  readonly switches: readonly string[];
  readonly steps: readonly StepSummary[];
  readonly gpuWork: number;
  readonly streams: number;
  readonly tracks: number;
  readonly strings: number;
  readonly window: TimeWindow;
  readonly process: RecordedProcess;
}

export interface CategoryCount {
  readonly phase: string;
  readonly category: string;
  readonly events: number;
}

export interface StepSummary {
  readonly index: number;
  /** Duration of the host's span. The GPU may take longer. */
  readonly hostMs: number;
}

export interface TimeWindow {
  /** From the start of the first event to the end of the last. */
  readonly ms: number;
  /** Nanoseconds since 1970. Null: the trace counts from something else. */
  readonly startNs: bigint | null;
  readonly endNs: bigint | null;
}

export function summarizeTrace(trace: Trace): TraceSummary {
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
    run: data.header.run,
    versions: data.header.versions,
    switches: data.header.switches,
    steps: trace.steps.map((s) => ({ index: s.index, hostMs: (s.endNs - s.startNs) / 1e6 })),
    gpuWork: trace.links.work.length,
    streams: countStreams(trace),
    tracks: data.tracks.length,
    strings: trace.strings.size - 1,
    window: timeWindow(trace),
    process: recordedProcess(trace),
  };
}

function countStreams({ links, data }: Trace): number {
  const isStream = new Uint8Array(data.tracks.length);
  for (let i = 0; i < links.work.length; i++) isStream[data.track[links.work[i]!]!] = 1;
  return isStream.reduce((n, is) => n + is, 0);
}

/** Times since 1970 are beyond this, a moment in 2001. Smaller ones count from something else. */
const EPOCH_LIKE_NS = 1_000_000_000_000_000_000n;

function timeWindow(trace: Trace): TimeWindow {
  const { data } = trace;
  const { from: first, to: last } = trace.extents;
  if (!(last >= first)) return { ms: 0, startNs: null, endNs: null };
  const base = data.baseNs + BigInt(data.header.baseTimeNanoseconds ?? 0);
  const startNs = base + BigInt(Math.round(first));
  const known = startNs > EPOCH_LIKE_NS;
  const ms = (last - first) / 1e6;
  return { ms, startNs: known ? startNs : null, endNs: known ? base + BigInt(Math.round(last)) : null };
}
