import { type CheckResult, found } from '../base/check.js';
import { messageOf } from '../base/input-error.js';
import { inputProblem } from '../base/severity.js';
import { boundDrawing } from '../drawing/bounded.js';
import { drawTrace } from '../drawing/draw-trace.js';
import { summarizeEventLog } from '../logs/log-summary.js';
import type { CompileLog } from '../model/compile-log.js';
import type { EventLog } from '../model/event-log.js';
import { Trace } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import { TelemetryStreamReader } from '../readers/dmon/telemetry-stream-reader.js';
import { seriesOf } from '../telemetry/gpu-series.js';
import { type GpuState, summarizeTelemetry } from '../telemetry/gpu-state.js';
import { jobActivity } from '../telemetry/processes/job-activity.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import { checkTrace } from '../traces/checks/trace-checks.js';
import type { AnalyzeOptions } from '../traces/trace-facts.js';
import { summarizeTrace } from '../traces/trace-summary.js';
import type { MemberIdentity, TaskMember, TraceMember } from './member.js';
import type { MemberResult } from './member-reader.js';
import { memberFromFacts } from './stored-member.js';

/**
 * What to return for a file. `trace`: the columns. `summary`: what `inspect` prints. `facts`: what diagnosis and rules need.
 * For the last two the columns stay in the thread that read them, so that memory does not grow with the number of ranks.
 */
export type DigestWant =
  | 'trace'
  | 'summary'
  | { readonly facts: AnalyzeOptions; readonly draw?: DrawOptions };

/** What to draw of traces, besides the facts. */
export interface DrawOptions {
  /** Keep the columns of these members and draw all of them. Of others only steps are drawn. */
  readonly columns: 'all' | readonly string[];
  /** Instead of that: a drawing of about so many slices, for a file. */
  readonly bounded?: number;
}

/** Keeps what is wanted from a member and drops the rest. */
export function digest({ content, ...member }: MemberResult, want: DigestWant): TaskMember {
  const checks = member.problems.map(inputProblem);
  const base = { ...member, checks, identity: { events: 0, rank: null, window: '' } };
  switch (content.kind) {
    case 'unknown':
      return { ...base, kind: 'unknown', looksLike: content.looksLike };
    case 'facts':
      return memberFromFacts(member, content.record, typeof want === 'object' ? want.facts : null);
    case 'events': {
      const summary = want === 'summary' ? summarizeEventLog(content.log) : null;
      const log = want === 'summary' ? null : content.log;
      return { ...base, kind: 'events', identity: logIdentity(content.log), summary, log };
    }
    case 'manifest':
      return { ...base, kind: 'manifest', manifest: content.manifest };
    case 'dmon':
      return {
        ...base,
        kind: 'dmon',
        identity: { ...base.identity, events: content.telemetry.rows },
        gpus: summarizeTelemetry(content.telemetry),
        series: seriesOf(content.telemetry),
        telemetry: want === 'trace' || (want !== 'summary' && want.draw) ? content.telemetry : null,
      };
    case 'proc-samples': {
      const { recording } = content;
      const identity = { ...base.identity, events: recording?.samples.length ?? 0 };
      const activity = recording && jobActivity(recording);
      return { ...base, kind: 'proc-samples', identity, activity, gpus: gpusIn(recording?.gpuText ?? '') };
    }
    case 'torch-log':
      return {
        ...base,
        kind: 'torch-log',
        identity: { ...base.identity, events: eventsIn(content.log) },
        log: content.log,
      };
    case 'flight-recorder': {
      const identity = { ...base.identity, events: content.dump.collectives.length };
      return { ...base, kind: 'flight-recorder', identity, dump: content.dump };
    }
    case 'py-spy': {
      const stacks = content.profiles.flatMap((p) => p.threads.flatMap((t) => t.stacks));
      const identity = { ...base.identity, events: stacks.reduce((n, s) => n + s.samples, 0) };
      return { ...base, kind: 'py-spy', identity, profiles: content.profiles };
    }
    default:
      return digestTrace(
        {
          ...base,
          kind: content.kind,
          summary: null,
          facts: null,
          drawing: null,
          bounded: null,
          trace: content.trace,
        },
        want,
      );
  }
}

function gpusIn(text: string): readonly GpuState[] {
  const reader = new TelemetryStreamReader();
  reader.push(Buffer.from(text, 'latin1'));
  const read = reader.finish();
  return read.kind === 'dmon' ? summarizeTelemetry(read.telemetry) : [];
}

function digestTrace(member: TraceMember & { readonly trace: TraceData }, want: DigestWant): TraceMember {
  const trace = new Trace(member.trace);
  const traced = { ...member, identity: traceIdentity(trace) };
  if (want === 'trace') return traced;
  const checks = [...member.checks, ...checkTrace(trace)];
  const summarized = { ...traced, trace: null, checks, summary: summarizeTrace(trace) };
  if (want === 'summary') return summarized;
  const known = { ...summarized, ...analyzed(trace, want.facts, checks) };
  return want.draw ? { ...known, ...drawn(trace, member.path, want.draw) } : known;
}

type Drawn = Pick<TraceMember, 'drawing' | 'bounded' | 'trace'>;

/** Without a drawing the diagnosis is still good. */
function drawn(trace: Trace, path: string, { columns, bounded }: DrawOptions): Drawn {
  const none = { drawing: null, bounded: null, trace: null };
  const isWhole = columns === 'all' || columns.includes(path);
  try {
    const drawing = drawTrace(trace, isWhole || bounded !== undefined);
    if (!drawing) return none;
    if (bounded !== undefined) return { ...none, bounded: boundDrawing(trace, drawing, bounded) };
    return { ...none, drawing, trace: isWhole ? trace.data : null };
  } catch (error) {
    if (process.env.WHYSLOW_DEBUG) throw error;
    return none;
  }
}

/** A bug in the analysis must not cost the user the other files, nor the health checks of this one. */
function analyzed(trace: Trace, options: AnalyzeOptions, checks: readonly CheckResult[]) {
  try {
    return { facts: analyzeTrace(trace, options), checks };
  } catch (error) {
    if (process.env.WHYSLOW_DEBUG) throw error;
    const message = `the analysis failed: ${messageOf(error)}`;
    const consequence = 'please report it; this file is left out of the diagnosis';
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

const eventsIn = ({ functions, graphBreaks }: CompileLog): number =>
  functions.reduce((n, f) => n + f.recompiles + Number(f.limit !== null), 0) +
  graphBreaks.reduce((n, b) => n + b.count, 0);
