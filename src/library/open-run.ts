import { freemem } from 'node:os';
import { isTraceInput, type TraceInput } from '../ingest/input.js';
import { readInputs } from '../ingest/read-run.js';
import type { Want } from '../ingest/task.js';
import { discoverFiles, type FoundFile } from '../sources/discover.js';
import { type DiagnoseOptions, readDiagnosis } from './diagnose.js';
import { type OpenedRun, openedRun } from './open-stream.js';

/**
 * Reads the files under the paths once. Columns stay in memory up to `limit` bytes. Throws InputError when there is nothing to
 * analyze.
 */
export async function openRun(
  paths: readonly string[],
  title: string | null,
  options: DiagnoseOptions = {},
  limit = memoryLimit(),
): Promise<OpenedRun> {
  const { files } = await discoverFiles(paths);
  const fits = files.reduce((sum, f) => sum + columnsOf(f), 0) <= limit;
  const diagnosis = await readDiagnosis(paths, options, { columns: fits ? 'all' : [] });
  return openedRun(diagnosis, title, readAgain, limit, options.price);
}

/** Telemetry and manifests are written all the time, and change no verdict by themselves. */
const BESIDE = /[\\/](?:telemetry|ranks|control)[\\/][^\\/]*$/;

/** Names and sizes of what a job records in a folder: two texts differ if there is something new. */
export async function recordedSoFar(folder: string): Promise<string> {
  const { files } = await discoverFiles([folder]);
  const recorded = files.filter((f) => !BESIDE.test(f.path));
  return recorded.map((f) => `${f.path} ${f.size}`).join('\n');
}

/** One member of a file, with its columns. */
async function readAgain(member: TraceInput): Promise<TraceInput> {
  const want: Want = { facts: { steps: null, light: true }, draw: { columns: [member.path] } };
  const { members } = await readInputs([member.file], want, { jobs: 1 });
  const found = members.find((m) => m.path === member.path);
  return found && isTraceInput(found) ? found : member;
}

/** Half of what is free, and not more than 8 GB: others work on this machine too. */
const memoryLimit = () => Math.min(8e9, freemem() / 2);

/** Traces compress to a tenth to a twentieth, and their columns take a sixth of the text (docs/internal/measurements.md). */
const columnsOf = ({ path, size }: FoundFile) => size * (/\.(?:gz|zst|tgz|zip)$/i.test(path) ? 3 : 0.2);
