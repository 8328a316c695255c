import type { Problem } from '../base/problem.js';
import type { EventLog } from '../model/event-log.js';
import { Trace } from '../model/trace.js';
import type { RankedMember, RankSource } from './ranks.js';
import { type ProgressSink, readInputs } from './read-run.js';

interface RunFile {
  /** The file that was opened. */
  readonly file: string;
  /** The same, or `file!member` for a member of an archive. */
  readonly path: string;
  readonly rank: number;
  readonly rankSource: RankSource;
  readonly storedBytes: number;
  readonly decodedBytes: number;
  /** Of the file and its format. */
  readonly problems: readonly Problem[];
}
export interface RunTrace extends RunFile {
  readonly trace: Trace;
}
export interface RunLog extends RunFile {
  readonly log: EventLog;
}

/** All that was found under some paths, in memory. */
export interface Run {
  readonly traces: readonly RunTrace[];
  readonly logs: readonly RunLog[];
  readonly ignored: readonly string[];
  readonly problems: readonly Problem[];
}

export interface ReadRunOptions {
  /** Files read at once; default one a core. */
  readonly jobs?: number;
  readonly progress?: ProgressSink;
}

/** Reads traces and event logs from files, directories and patterns. Throws InputError when there is nothing to read. */
export async function readRun(paths: string | readonly string[], options: ReadRunOptions = {}): Promise<Run> {
  const list = typeof paths === 'string' ? [paths] : paths;
  const { members, ignored, problems } = await readInputs(list, { want: 'trace', ...options });
  return {
    traces: members.flatMap((m) =>
      m.member.trace ? [{ ...fileOf(m), trace: new Trace(m.member.trace) }] : [],
    ),
    logs: members.flatMap((m) => (m.member.log ? [{ ...fileOf(m), log: m.member.log }] : [])),
    ignored,
    problems,
  };
}

function fileOf({ member, rank, rankSource }: RankedMember): RunFile {
  const { file, path, storedBytes, decodedBytes, problems } = member;
  return { file, path, rank, rankSource, storedBytes, decodedBytes, problems };
}
