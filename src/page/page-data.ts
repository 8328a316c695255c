import type { TimeClass } from '../facts/time-class.js';
import type { Report } from '../report/report.js';
import type { GpuSeries } from '../telemetry/gpu-state.js';
import type { WhatIfPlan } from './what-if.js';

/** What the page shows: the report, and what people look up next to it. Plain data of bounded size. */
export interface PageData {
  readonly title: string | null;
  /** Without `heat`, which `rankSteps` replaces. */
  readonly report: Report;
  /** The recorded step by class, before the profiler's cost was taken off. Null: not recorded by a profiler. */
  readonly profiled: Readonly<Record<TimeClass, number>> | null;
  /** Null: no step of any rank was recorded. */
  readonly rankSteps: RankSteps | null;
  /** The rank that the tables and sliders are of: it sets the pace. Null: nothing could be analyzed. */
  readonly decisiveRank: number | null;
  /** A GPU does the work. False: the job computes on the host. */
  readonly hasGpu: boolean;
  readonly kernels: readonly KernelRow[];
  readonly operators: readonly OperatorRow[];
  readonly collectives: readonly CollectiveRow[];
  /** A sentence: why there is nothing to replay. */
  readonly whatIf: WhatIfPlan | string;
  /** Where the job's time went, from start to end. Null: not recorded. */
  readonly jobOverTime: JobOverTime | null;
  readonly gpus: readonly GpuRow[];
  /** Null: no memory snapshot. */
  readonly memory: MemoryOnPage | null;
  /** Null: no dump shows ranks that wait. */
  readonly waits: WaitsOnPage | null;
}

/** What holds the memory of a GPU. */
export interface MemoryOnPage {
  readonly title: string;
  /** The GPU; empty: there is only one. */
  readonly who: string;
  /** At the peak, the most first. */
  readonly parts: readonly {
    readonly kind: string;
    readonly bytes: number;
    readonly lines: readonly { readonly at: string; readonly bytes: number }[];
  }[];
  readonly kinds: readonly string[];
  /** The largest sum of a slice. */
  readonly most: number;
  /** Bytes by kind, at the highest moment of each slice. */
  readonly slices: readonly (readonly number[])[];
  readonly seconds: number;
}

/** Those that wait for culprits come first. */
export interface WaitsOnPage {
  readonly culprits: readonly number[];
  readonly waits: readonly {
    readonly ranks: readonly number[];
    readonly on: readonly number[];
    readonly call: string;
  }[];
}

/**
 * Times of every rank and step. Values are codes, so that thousands of ranks fit: see time-codes.ts. A cell is at
 * `rank * steps.length + step`.
 */
export interface RankSteps {
  readonly ranks: readonly number[];
  readonly hosts: readonly (string | null)[];
  readonly coordinates: readonly (Readonly<Record<string, number>> | null)[];
  /** Step numbers. Where there were too many, of each group the first. */
  readonly steps: readonly number[];
  /** Steps that one column stands for; the slowest of them is shown. */
  readonly stepsPerColumn: number;
  /** The steps were recorded by a profiler, which makes them longer. */
  readonly profiled: boolean;
  /** The steps divide as the event logs tell, although the answer rests on a trace too: most ranks have only a log. */
  readonly dividedByLogs: boolean;
  readonly metrics: readonly StepMetric[];
}

export interface StepMetric extends CodedTimes {
  /** `own`: the step without exposed communication, what a rank needs by itself. */
  readonly name: 'step' | 'own' | TimeClass;
}

/** Times per step. */
export interface KernelRow {
  readonly name: string;
  readonly group: string;
  readonly precision: string;
  readonly count: number;
  readonly ms: number;
  /** Of the longest one, ns from the first event of the trace. */
  readonly longestTs: number;
  readonly longestNs: number;
}

export interface OperatorRow {
  readonly name: string;
  readonly count: number;
  /** Host time outside the operators that it calls, and with them. */
  readonly selfMs: number;
  readonly ms: number;
}

export interface CollectiveRow {
  readonly group: string;
  readonly kind: string;
  /** Sizes from this up to four times it. Null: unknown. */
  readonly fromBytes: number | null;
  readonly instances: number;
  /** Median time of one. */
  readonly ms: number;
  /** Waiting for other ranks is not part of `ms`. False: the two cannot be separated. */
  readonly withoutWaiting: boolean;
  /** Bus bandwidth, as nccl-tests counts it. Null: unknown. */
  readonly gbPerSecond: number | null;
}

export interface JobOverTime {
  readonly phases: readonly string[];
  /** Seconds since the start of the process: the bounds of each slice. */
  readonly bounds: readonly number[];
  /** Seconds of each phase in each slice. */
  readonly seconds: readonly (readonly number[])[];
}

export interface GpuRow {
  readonly rank: number;
  readonly name: string | null;
  readonly samples: number;
  readonly utilization: number | null;
  readonly clock: number | null;
  readonly maxClock: number | null;
  readonly power: number | null;
  readonly powerLimit: number | null;
  readonly temperature: number | null;
  /** Share of busy time in which power or heat limited the clock. */
  readonly limited: number | null;
  /** Null for all but the first GPUs, to keep the page small. */
  readonly series: GpuSeries | null;
}

/** How far the page of a server is. Asked for again and again while a job runs. */
export interface PageState {
  /** `empty`: nothing was named to open. `whole`: read once. `running` and `ended`: a job that is being measured. */
  readonly of: 'empty' | 'whole' | 'running' | 'ended';
  /** Grows with every diagnosis. 0: there is none yet. */
  readonly version: number;
  /** The last step that was recorded. Null: none. */
  readonly lastStep: number | null;
  /** Seconds since the last diagnosis. */
  readonly age: number;
  /** Where the measurements are. Null: nowhere. */
  readonly folder: string | null;
}

/**
 * Times as small whole numbers on a logarithmic scale: a code is off by 0.01% (16 bits) or 1.9% (8 bits), however far the
 * slowest step is from the usual one. 0: no time, or next to none. The largest code: not recorded.
 */
interface CodedTimes {
  /** ns of the largest time. */
  readonly top: number;
  readonly codes: Uint8Array | Uint16Array;
}

/** The smallest time that is not 0 is this many powers of ten below the largest. */
const decadesOf = (codes: CodedTimes['codes']) => (codes instanceof Uint8Array ? 4 : 6);

export const missingCode = (codes: CodedTimes['codes']) => (codes instanceof Uint8Array ? 0xff : 0xffff);

/** `times` in ns; NaN: not recorded. `wide`: two bytes for each. */
export function encodeTimes(times: Float64Array, wide: boolean): CodedTimes {
  let top = 0;
  for (const t of times) if (t > top) top = t;
  const codes = wide ? new Uint16Array(times.length) : new Uint8Array(times.length);
  const [most, decades] = [missingCode(codes) - 1, decadesOf(codes)];
  for (let i = 0; i < times.length; i++) {
    const time = times[i]!;
    if (Number.isNaN(time)) codes[i] = most + 1;
    else if (time > 0) codes[i] = Math.max(0, Math.round(most * (1 + Math.log10(time / top) / decades)));
  }
  return { top, codes };
}

/** ns of a code. NaN: not recorded. */
export function timeOfCode({ top, codes }: CodedTimes, code: number): number {
  const most = missingCode(codes) - 1;
  if (code > most) return Number.NaN;
  return code === 0 ? 0 : top * 10 ** ((code / most - 1) * decadesOf(codes));
}

/** ns of a cell. */
export const decodeTime = (times: CodedTimes, cell: number): number => timeOfCode(times, times.codes[cell]!);
