import type { Problem } from '../base/problem.js';
import type { EventLog } from '../model/event-log.js';
import type { Manifest } from '../model/manifest.js';
import type { GpuTelemetry } from '../model/telemetry.js';
import { Trace } from '../model/trace.js';
import { logOf, manifestOf, type TaskMember } from './member.js';
import type { RankedMember, RankSource } from './ranks.js';
import { type ProgressSink, readInputs } from './read-run.js';

interface AnyFile {
  /** The file that was opened. */
  readonly file: string;
  /** The same, or `file!member` for a member of an archive. */
  readonly path: string;
  readonly storedBytes: number;
  readonly decodedBytes: number;
  /** Of the file and its format. */
  readonly problems: readonly Problem[];
}
interface RunFile extends AnyFile {
  readonly rank: number;
  readonly rankSource: RankSource;
}
export interface RunTrace extends RunFile {
  readonly trace: Trace;
}
export interface RunLog extends RunFile {
  readonly log: EventLog;
}
export interface RunManifestFile extends AnyFile {
  readonly manifest: Manifest;
}
export interface RunTelemetry extends AnyFile {
  /** From the name of the file; null where that says nothing. */
  readonly host: string | null;
  readonly telemetry: GpuTelemetry;
}

/** All that was found under some paths, in memory. */
export interface Run {
  readonly traces: readonly RunTrace[];
  readonly logs: readonly RunLog[];
  readonly manifests: readonly RunManifestFile[];
  readonly telemetry: readonly RunTelemetry[];
  readonly ignored: readonly string[];
  readonly problems: readonly Problem[];
}

export interface ReadRunOptions {
  /** Files read at once; default one a core. */
  readonly jobs?: number | undefined;
  readonly progress?: ProgressSink | undefined;
}

/** Reads traces and event logs from files, directories and patterns. Throws InputError when there is nothing to read. */
export async function readRun(paths: string | readonly string[], options: ReadRunOptions = {}): Promise<Run> {
  const list = typeof paths === 'string' ? [paths] : paths;
  const { members, beside, ignored, problems } = await readInputs(list, { want: 'trace', ...options });
  return {
    traces: members.flatMap((m) =>
      m.member.kind === 'kineto' && m.member.trace
        ? [{ ...fileOf(m), trace: new Trace(m.member.trace) }]
        : [],
    ),
    logs: members.flatMap((m) => {
      const log = logOf(m.member);
      return log ? [{ ...fileOf(m), log }] : [];
    }),
    manifests: beside.flatMap((m) => {
      const manifest = manifestOf(m);
      return manifest ? [{ ...anyFile(m), manifest }] : [];
    }),
    telemetry: beside.flatMap((m) =>
      m.kind === 'dmon' && m.telemetry ? [{ ...anyFile(m), host: m.hints.host, telemetry: m.telemetry }] : [],
    ),
    ignored,
    problems,
  };
}

function fileOf({ member, rank, rankSource }: RankedMember): RunFile {
  return { ...anyFile(member), rank, rankSource };
}

function anyFile({ file, path, storedBytes, decodedBytes, problems }: TaskMember): AnyFile {
  return { file, path, storedBytes, decodedBytes, problems };
}
