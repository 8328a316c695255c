import { type CheckResult, found, inputProblem } from '../base/check.js';
import { messageOf } from '../base/input-error.js';
import { boundDrawing } from '../drawing/bounded.js';
import { drawTrace } from '../drawing/draw-trace.js';
import { summarizeEventLog } from '../logs/log-facts.js';
import type { EventLog } from '../model/event-log.js';
import { Trace } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import { checkTrace, withFoundSteps } from '../traces/checks/trace-checks.js';
import type { AnalyzeOptions } from '../traces/trace-facts.js';
import { summarizeTrace } from '../traces/trace-summary.js';
import type { Input, InputIdentity, TraceInput } from './input.js';
import type { Read } from './read-member.js';
import { inputFromFacts } from './stored-input.js';

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

/** Keeps what is wanted of a file and drops the rest. */
export function digest({ content, ...read }: Read, want: DigestWant): Input {
  const checks = read.problems.map(inputProblem);
  const base = { ...read, checks, identity: { events: 0, rank: null, window: '' } };
  switch (content.of) {
    case 'nothing':
      return { ...base, ...content };
    case 'facts':
      return inputFromFacts(read, content.record, typeof want === 'object' ? want.facts : null);
    case 'log': {
      const { log } = content;
      const isBrief = want === 'summary';
      const kept = { summary: isBrief ? summarizeEventLog(log) : null, log: isBrief ? null : log };
      return { ...base, of: 'log', identity: logIdentity(log), ...kept };
    }
    case 'run': {
      const { events, evidence } = content;
      return { ...base, of: 'run', identity: { ...base.identity, events }, evidence };
    }
    case 'trace': {
      const { trace } = content;
      const unset = { summary: null, facts: null, drawing: null, bounded: null };
      return digestTrace({ ...base, of: 'trace', ...unset, trace }, want);
    }
  }
}

function digestTrace(input: TraceInput & { readonly trace: TraceData }, want: DigestWant): TraceInput {
  const trace = new Trace(input.trace);
  const traced = { ...input, identity: traceIdentity(trace) };
  if (want === 'trace') return traced;
  const checks = [...input.checks, ...checkTrace(trace)];
  const summarized = { ...traced, trace: null, checks, summary: summarizeTrace(trace) };
  if (want === 'summary') return summarized;
  const known = { ...summarized, ...analyzed(trace, want.facts, checks) };
  return want.draw ? { ...known, ...drawn(trace, input.path, want.draw) } : known;
}

type Drawn = Pick<TraceInput, 'drawing' | 'bounded' | 'trace'>;

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
    const facts = analyzeTrace(trace, options);
    return { facts, checks: facts ? withFoundSteps(checks, facts) : checks };
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

function traceIdentity(trace: Trace): InputIdentity {
  const { steps, data } = trace;
  return {
    events: data.kinds.reduce((n, k) => n + k.events, 0),
    rank: data.header.distributed?.rank ?? null,
    window: `${steps[0]?.index}-${steps.at(-1)?.index}`,
  };
}

function logIdentity(log: EventLog): InputIdentity {
  const ranks = new Set(log.runs.flatMap((run) => [...new Set(run.rank)].filter((r) => r >= 0)));
  return {
    events: log.runs.reduce((n, run) => n + run.rows, 0),
    rank: ranks.size === 1 ? [...ranks][0]! : null,
    window: log.runs.map((run) => run.id).join(),
  };
}
