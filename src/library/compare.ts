import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describeSystemError, InputError } from '../base/input-error.js';
import type { CompareReport } from '../compare/compare-report.js';
import { compareRuns } from '../compare/compare-runs.js';
import { compareWithHistory, entriesOf, lineOf } from '../compare/history/compare-history.js';
import { profileOfReport } from '../compare/report-profile.js';
import { profileOf, type RunProfile, stepsOfRun } from '../compare/run-profile.js';
import type { ReadOptions } from '../ingest/pool.js';
import { shownAddress } from '../sources/remote/address.js';
import { diagnoseInFull } from './diagnose.js';

/** The paths of a side: each is a run (a trace, a log, a folder, a report of `diagnose --json`) or a folder of runs. */
export type SidePaths = readonly string[];

/** Says whether AFTER is faster than BEFORE, where, and whether it is more than noise. Throws InputError for what cannot be read. */
export async function compare(
  before: SidePaths,
  after: SidePaths,
  options: ReadOptions = {},
): Promise<CompareReport> {
  return compareRuns(await runsOf(before, options), await runsOf(after, options));
}

export interface HistoryOptions extends ReadOptions {
  /** The run counts as good even if it is slower: later runs are compared with it. */
  readonly accept?: boolean;
  readonly now?: Date;
}

/** Compares runs with the last good ones of a history file and appends them to it. The report is of the last; null: the file was empty. */
export async function compareHistory(
  paths: SidePaths,
  file: string,
  { accept = false, now = new Date(), ...reading }: HistoryOptions = {},
): Promise<{ readonly report: CompareReport | null; readonly broken: number }> {
  const runs = await runsOf(paths, reading);
  let [report, broken]: [CompareReport | null, number] = [null, 0];
  for (const run of runs) {
    const history = entriesOf(await readHistory(file));
    broken = history.broken;
    report = compareWithHistory(history.entries, run);
    const entry = { time: now.toISOString(), verdict: report?.verdict ?? null, accepted: accept };
    await appendHistory(file, lineOf(run, entry));
  }
  return { report, broken };
}

async function runsOf(paths: SidePaths, options: ReadOptions): Promise<RunProfile[]> {
  const runs: RunProfile[] = [];
  for (const path of paths)
    for (const run of await runFolders(path)) runs.push(await profileOfPath(run, options));
  return runs;
}

/** The runs in a folder that is none itself: `whyslow-runs`, with one folder for each. Else the path itself. */
async function runFolders(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const isRun = async (folder: string) => (await stat(join(folder, 'run.json')).catch(() => null)) !== null;
  if (entries.length === 0 || (await isRun(path))) return [path];
  const folders = entries.filter((e) => e.isDirectory()).map((e) => join(path, e.name));
  const runs: string[] = [];
  for (const folder of folders.sort()) if (await isRun(folder)) runs.push(folder);
  return runs.length > 0 ? runs : [path];
}

async function profileOfPath(path: string, options: ReadOptions): Promise<RunProfile> {
  const run = (await profileOfReportFile(path)) ?? (await profileOfRun(path, options));
  if (stepsOfRun(run).length > 0) return run;
  throw new InputError(
    `${shownAddress(path)}: no complete step was recorded, so there is no step time to compare`,
  );
}

async function profileOfRun(path: string, options: ReadOptions): Promise<RunProfile> {
  const { diagnosis, report } = await diagnoseInFull(path, options);
  // A login or a signature in an address is a secret, and the label goes into reports and history files.
  return profileOf(shownAddress(path), diagnosis, report);
}

/** Reports begin with their schema. Traces can be gigabytes, so only their beginning is looked at. */
const HEAD = 4096;
const MAX_REPORT_BYTES = 256 * 2 ** 20;

async function profileOfReportFile(path: string): Promise<RunProfile | null> {
  if (!path.endsWith('.json') || !(await beginsAsReport(path))) return null;
  try {
    return profileOfReport(path, JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const why =
      error instanceof SyntaxError ? 'it is a report, but not complete JSON' : describeSystemError(error);
    throw new InputError(`${path}: ${why}`);
  }
}

async function beginsAsReport(path: string): Promise<boolean> {
  const file = await open(path).catch(() => null);
  if (!file) return false;
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(HEAD);
    const { bytesRead } = await file.read(head, 0, HEAD, 0);
    return (
      size <= MAX_REPORT_BYTES &&
      /^\s*\{\s*"schema"\s*:\s*"whyslow\/report\/1"/.test(head.toString('utf8', 0, bytesRead))
    );
  } catch {
    return false; // a directory
  } finally {
    await file.close();
  }
}

/** Text of the file; empty if there is none yet. */
async function readHistory(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new InputError(`${path}: ${describeSystemError(error)}`);
  });
}

/**
 * Appends one line in one write at the end of the file, wherever that is by then: several processes may append at once. A line
 * that a crash cut short is closed first.
 */
async function appendHistory(path: string, line: string): Promise<void> {
  try {
    const file = await open(path, 'a+');
    try {
      const { size } = await file.stat();
      const last = Buffer.alloc(1);
      if (size > 0) await file.read(last, 0, 1, size - 1);
      const isCut = size > 0 && last.toString() !== '\n';
      const bytes = Buffer.from(isCut ? `\n${line}` : line);
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length) throw new InputError(`${path}: the disk is full`);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw error instanceof InputError ? error : new InputError(`${path}: ${describeSystemError(error)}`);
  }
}
