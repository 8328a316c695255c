import fs, { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { Option } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { leaveNothing } from '../../base/leave-nothing.js';
import { makeFolders } from '../../base/make-folders.js';
import {
  type EngineJob,
  type EngineProgress,
  type EngineResult,
  isPythonEngine,
  PYTHON_ENGINES,
  type PythonEngineId,
} from '../../engines/engine.js';
import { type StepRange, stepsOption } from '../../library/vocabulary.js';

/** `--on` and what goes with it. */
export interface EngineFlags {
  readonly on?: PythonEngineId | 'slurm';
  readonly address?: string;
}

const withAddress = Object.entries(PYTHON_ENGINES);

export const engineOptions = () => [
  new Option('--on <engine>', 'read the traces on a cluster, where they are').choices([
    ...withAddress.map(([id]) => id),
    'slurm',
  ]),
  new Option(
    '--address <address>',
    `address of the cluster. ${withAddress.map(([, { name, address }]) => `${name}: ${address}`).join('; ')}`,
  ),
];

export const ADDRESS_ALONE = `--address is that of a cluster: add ${withAddress.map(([id]) => `--on ${id}`).join(' or ')}`;

/** How many tasks an array has unless there are fewer files. */
const ARRAY_TASKS = 64;

export interface OnEngine {
  readonly paths: readonly string[];
  readonly out: string;
  /** Where a script that is submitted later puts facts, if not in `out`. */
  readonly scriptOut?: string;
  readonly steps: StepRange | undefined;
  readonly progress: EngineProgress;
}

/** Makes facts on a cluster. The text is a script to submit instead, where Slurm gave no allocation yet. */
export async function factsOnEngine(
  { paths, out, scriptOut, steps, progress }: OnEngine,
  { on, address }: EngineFlags,
): Promise<EngineResult | string> {
  if (address !== undefined && !isPythonEngine(on)) throw new InputError(ADDRESS_ALONE);
  if (paths.includes('-')) throw new InputError('standard input cannot be read on a cluster; pass its path');
  const { listInputs, namedPaths } = await import('../../library/facts.js');
  const options = steps ? ['--steps', stepsOption(steps)] : [];
  // A list of paths is read here: the nodes may not see it.
  const named = (await Promise.all(paths.map(namedPaths))).flat();
  const job: EngineJob = { paths: named.map(absolute), out: resolve(out), options, progress };
  if (isPythonEngine(on)) {
    const { runByPython } = await import('../../engines/driver.js');
    makeOut(job.out);
    return runByPython(job, { engine: on, address: address ?? null, python: findPython() });
  }
  const { isInAllocation, runOnSlurm, sbatchScript } = await import('../../engines/slurm.js');
  const files = (await listInputs(job.paths)).map((f) => f.path);
  // The script needs a folder that is still there when it runs.
  if (!isInAllocation())
    return sbatchScript({ ...job, out: resolve(scriptOut ?? out) }, Math.min(ARRAY_TASKS, files.length));
  makeOut(job.out);
  return runOnSlurm(job, files);
}

function makeOut(folder: string): void {
  try {
    makeFolders(folder, fs);
  } catch (error) {
    throw new InputError(`cannot make the folder ${folder}: ${describeSystemError(error)}`);
  }
}

/** Addresses such as s3:// stay as they are. */
const absolute = (path: string) => (/^[a-z][a-z\d+.-]*:\/\//i.test(path) ? path : resolve(path));

/** The Python of the active environment, or the first on PATH. */
function findPython(env = process.env): string {
  const folders = [
    ...(env.VIRTUAL_ENV ? [join(env.VIRTUAL_ENV, 'bin')] : []),
    ...(env.PATH ?? '').split(delimiter).filter(Boolean),
  ];
  const found = folders.flatMap((f) => [join(f, 'python'), join(f, 'python3')]).find((p) => existsSync(p));
  return found ?? 'python3';
}

/** Below the working directory for Slurm, whose nodes share it; else where temporary files go. */
export async function inFactsFolder<T>(
  on: EngineFlags['on'],
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(on === 'slurm' ? process.cwd() : tmpdir(), '.whyslow-facts-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const finished = leaveNothing(remove);
  try {
    return await use(folder);
  } finally {
    finished();
    remove();
  }
}
