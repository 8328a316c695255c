import type { Problem } from '../base/problem.js';
import type { EventLog } from '../model/event-log.js';
import type { Manifest } from '../model/manifest.js';
import type { GpuTelemetry } from '../model/telemetry.js';
import { Trace } from '../model/trace.js';
import { type Input, isTraceInput, logOf, manifestOf } from './input.js';
import type { ReadOptions } from './pool.js';
import type { RankedInput, RankSource } from './ranks.js';
import { readInputs } from './read-run.js';

type AnyFile = Pick<Input, 'file' | 'path' | 'storedBytes' | 'decodedBytes' | 'problems'>;

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
  /** From the file name. Null: it names no host. */
  readonly host: string | null;
  readonly telemetry: GpuTelemetry;
}

/** Everything found under some paths, in memory. */
export interface Run {
  readonly traces: readonly RunTrace[];
  readonly logs: readonly RunLog[];
  readonly manifests: readonly RunManifestFile[];
  readonly telemetry: readonly RunTelemetry[];
  /** Files in searched directories that whyslow does not recognize. */
  readonly ignored: readonly string[];
  /** Problems of the run as a whole. */
  readonly problems: readonly Problem[];
}

/** Reads files, directories and patterns into memory. Throws InputError when there is nothing to read. */
export async function readRun(paths: string | readonly string[], options: ReadOptions = {}): Promise<Run> {
  const { members, beside, ignored, problems } = await readInputs(paths, 'trace', options);
  return {
    traces: members.flatMap((m) =>
      isTraceInput(m) && m.trace ? [{ ...rankFile(m), trace: new Trace(m.trace) }] : [],
    ),
    logs: members.flatMap((m) => {
      const log = logOf(m);
      return log ? [{ ...rankFile(m), log }] : [];
    }),
    manifests: beside.flatMap((m) => {
      const manifest = manifestOf(m);
      return manifest ? [{ ...anyFile(m), manifest }] : [];
    }),
    telemetry: beside.flatMap((m) => {
      const { telemetry } = m.evidence;
      return telemetry ? [{ ...anyFile(m), host: m.hints.host, telemetry }] : [];
    }),
    ignored,
    problems,
  };
}

const rankFile = (input: RankedInput): RunFile => ({
  ...anyFile(input),
  rank: input.rank,
  rankSource: input.rankSource,
});

const anyFile = ({ file, path, storedBytes, decodedBytes, problems }: Input): AnyFile => ({
  file,
  path,
  storedBytes,
  decodedBytes,
  problems,
});
