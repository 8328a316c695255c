import { type CheckResult, found } from '../base/check.js';
import { InputError } from '../base/input-error.js';
import type { Problem } from '../base/problem.js';
import { inputProblem } from '../base/severity.js';
import { type EventLogSummary, summariseEventLog } from '../logs/log-summary.js';
import type { EventLog } from '../model/event-log.js';
import type { Manifest } from '../model/manifest.js';
import type { GpuTelemetry } from '../model/telemetry.js';
import { Trace } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import { type WhatIfAnswer, whatIf } from '../operations/what-if.js';
import type { ReadResult } from '../readers/common/reader.js';
import { type GpuState, summariseTelemetry } from '../telemetry/gpu-state.js';
import { checkTrace } from '../traces/checks/trace-checks.js';
import { type AnalyseOptions, analyseRank, type RankFacts } from '../traces/rank-facts.js';
import { summariseTrace, type TraceSummary } from '../traces/trace-summary.js';
import type { MemberResult } from './member-reader.js';
import { type OnBytes, readFile } from './read-file.js';

/**
 * What is asked of a file. `trace`: the columns themselves come back. Otherwise they stay in the thread that read them,
 * and only what fits a page (`summary`) or what rules ask about (`facts`) comes back, so that memory does not grow with
 * the number of ranks.
 */
export type Want = 'trace' | 'summary' | { readonly facts: AnalyseOptions };

export interface TaskMember extends Omit<MemberResult, 'content'> {
  readonly kind: ReadResult['kind'] | 'unknown';
  readonly identity: MemberIdentity;
  /** Why nothing reads it; null for what is read. */
  readonly looksLike: string | null;
  /** With `summary`. */
  readonly traceSummary: TraceSummary | null;
  readonly logSummary: EventLogSummary | null;
  /** With `facts`; null where the trace has nothing to analyse. */
  readonly facts: RankFacts | null;
  readonly checks: readonly CheckResult[];
  /** With `trace`; logs are small and come back with `facts` too. */
  readonly trace: TraceData | null;
  readonly log: EventLog | null;
  /** Of a table of operations. */
  readonly whatIf: WhatIfAnswer | null;
  readonly manifest: Manifest | null;
  /** The GPUs of a telemetry log; its samples with `trace` only. */
  readonly gpus: readonly GpuState[] | null;
  readonly telemetry: GpuTelemetry | null;
}

/** What the content says about which part of the run it is. */
export interface MemberIdentity {
  readonly events: number;
  readonly rank: number | null;
  /** Traces of one rank with different windows are no duplicates. */
  readonly window: string;
}

export interface TaskResult {
  readonly path: string;
  readonly storedBytes: number;
  readonly members: readonly TaskMember[];
  readonly problems: readonly Problem[];
  /** The file could not be opened, and why. */
  readonly error: string | null;
}

/** Reads one file and derives what is wanted. Runs in a worker or in the main thread alike. */
export async function runTask(path: string, want: Want, onBytes: OnBytes): Promise<TaskResult> {
  try {
    return { ...(await readFile(path, (member) => digest(member, want), onBytes)), error: null };
  } catch (error) {
    // A file that cannot be opened is a result like any other: the rest of the run goes on.
    if (!(error instanceof InputError)) throw error;
    return { path, storedBytes: 0, members: [], problems: [], error: error.message };
  }
}

/** What is wanted of a member; the rest is dropped. */
function digest({ content, ...member }: MemberResult, want: Want): TaskMember {
  const identity: MemberIdentity = { events: 0, rank: null, window: '' };
  const nothing = {
    looksLike: null,
    traceSummary: null,
    logSummary: null,
    facts: null,
    trace: null,
    log: null,
    whatIf: null,
    manifest: null,
    gpus: null,
    telemetry: null,
  };
  const base = { ...member, ...nothing, identity, checks: member.problems.map(inputProblem) };
  switch (content.kind) {
    case 'unknown':
      return { ...base, kind: 'unknown', looksLike: content.looksLike };
    case 'events': {
      const log = { ...base, kind: 'events', identity: logIdentity(content.log) } as const;
      return want === 'summary'
        ? { ...log, logSummary: summariseEventLog(content.log) }
        : { ...log, log: content.log };
    }
    case 'operations':
      // Judged where it was read: a table may have millions of rows, its answer fits a page.
      return {
        ...base,
        kind: 'operations',
        identity: { events: content.table.rows, rank: null, window: '' },
        whatIf: whatIf(content.table),
      };
    case 'manifest':
      return { ...base, kind: 'manifest', manifest: content.manifest };
    case 'dmon':
      return {
        ...base,
        kind: 'dmon',
        identity: { events: content.telemetry.rows, rank: null, window: '' },
        gpus: summariseTelemetry(content.telemetry),
        telemetry: want === 'trace' ? content.telemetry : null,
      };
    default: {
      const trace = new Trace(content.trace);
      const traced = { ...base, kind: 'kineto', identity: traceIdentity(trace) } as const;
      if (want === 'trace') return { ...traced, trace: content.trace };
      const checks = [...base.checks, ...checkTrace(trace)];
      const summarised = { ...traced, checks, traceSummary: summariseTrace(trace) };
      return want === 'summary' ? summarised : { ...summarised, ...analysed(trace, want.facts, checks) };
    }
  }
}

/** A bug in an analysis must not cost the user the other files, nor the health checks of this one. */
function analysed(trace: Trace, options: AnalyseOptions, checks: readonly CheckResult[]) {
  try {
    return { facts: analyseRank(trace, options), checks };
  } catch (error) {
    if (process.env.WHYSLOW_DEBUG) throw error;
    const message = `the analysis failed: ${error instanceof Error ? error.message : String(error)}`;
    const consequence = 'please report it; nothing is said about this file';
    return {
      facts: null,
      checks: [...checks, ...found('severe', 'analysis-failed', 1, message, consequence)],
    };
  }
}

function traceIdentity(trace: Trace): MemberIdentity {
  const { steps, data } = trace;
  return {
    events: data.kinds.reduce((n, k) => n + k.events, 0),
    rank: data.header.distributed?.rank ?? null,
    window: `${steps[0]?.index}-${steps.at(-1)?.index}`,
  };
}

function logIdentity(log: EventLog): MemberIdentity {
  const ranks = new Set(log.runs.flatMap((run) => [...new Set(run.rank)].filter((r) => r >= 0)));
  return {
    events: log.runs.reduce((n, run) => n + run.rows, 0),
    rank: ranks.size === 1 ? [...ranks][0]! : null,
    window: log.runs.map((run) => run.id).join(),
  };
}
