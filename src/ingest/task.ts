import type { CheckResult } from '../analyses/health/finding.js';
import { checkTrace, inputProblem } from '../analyses/health/health.js';
import {
  type EventLogSummary,
  summariseEventLog,
  summariseTrace,
  type TraceSummary,
} from '../analyses/summary.js';
import { InputError } from '../base/input-error.js';
import type { Problem } from '../base/problem.js';
import type { EventLog } from '../model/event-log.js';
import { Trace } from '../model/trace.js';
import type { TraceData } from '../model/trace-data.js';
import type { MemberResult } from './member-reader.js';
import { type OnBytes, readFile } from './read-file.js';

/**
 * What is asked of a file. `trace`: the columns themselves come back. `summary`: they stay in the thread that read
 * them, and only what fits a page comes back, so that memory does not grow with the number of ranks.
 */
export type Want = 'trace' | 'summary';

export interface TaskMember extends Omit<MemberResult, 'content'> {
  readonly kind: 'kineto' | 'events' | 'unknown';
  readonly looksLike: string | null;
  readonly traceSummary: TraceSummary | null;
  readonly logSummary: EventLogSummary | null;
  readonly checks: readonly CheckResult[];
  readonly trace: TraceData | null;
  readonly log: EventLog | null;
}

export interface TaskResult {
  readonly path: string;
  readonly storedBytes: number;
  readonly members: readonly TaskMember[];
  readonly problems: readonly Problem[];
  /** The file could not be opened, and why. */
  readonly error: string | null;
}

/** Reads one file in this thread and derives what is wanted. */
export function runTask(path: string, want: Want, onBytes: OnBytes): Promise<TaskResult> {
  return withoutInputErrors(path, async () => {
    const { members, ...file } = await readFile(path, onBytes);
    return { ...file, members: members.map((m) => digest(m, want)), error: null };
  });
}

/** A file that cannot be opened is a result like any other: the rest of the run goes on. */
export async function withoutInputErrors(path: string, read: () => Promise<TaskResult>): Promise<TaskResult> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { path, storedBytes: 0, members: [], problems: [], error: error.message };
  }
}

/** What is wanted of a member; drops the rest. */
export function digest({ content, ...member }: MemberResult, want: Want): TaskMember {
  const inputChecks = member.problems.map(inputProblem);
  const nothing = { looksLike: null, traceSummary: null, logSummary: null, trace: null, log: null };
  const keep = want === 'trace';
  switch (content.kind) {
    case 'unknown':
      return { ...member, ...nothing, kind: 'unknown', looksLike: content.looksLike, checks: inputChecks };
    case 'events': {
      const logSummary = summariseEventLog(content.log);
      return {
        ...member,
        ...nothing,
        kind: 'events',
        logSummary,
        log: keep ? content.log : null,
        checks: inputChecks,
      };
    }
    default: {
      const trace = new Trace(content.trace);
      const checks = [...inputChecks, ...checkTrace(trace)];
      const traceSummary = summariseTrace(trace);
      return {
        ...member,
        ...nothing,
        kind: 'kineto',
        traceSummary,
        trace: keep ? content.trace : null,
        checks,
      };
    }
  }
}
