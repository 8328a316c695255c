import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { InputError } from '../base/input-error.js';
import { readCpuLimit } from './cgroup.js';
import { type RunCommand, runCommand } from './command.js';
import { filesBelow, type MachineFiles } from './files.js';
import { countCpus, zeroSeparated } from './proc-text.js';
import { fileSystemSize, measureSmallReads, type SmallReads } from './small-reads.js';
import { askTorch, type TorchFacts } from './torch-facts.js';

/** Questions about a machine's set-up. Answers that cost something are asked once. */
export interface Probe {
  readonly files: MachineFiles;
  readonly run: RunCommand;
  /** Environment of the job: of the named process, or of the user's shell. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whose limits count. */
  readonly pid: number;
  readonly cores: number;
  /** The smaller of cores and cgroup quota. */
  readonly cpus: number;
  readonly quota: number | null;
  /** Folder of the training data. Null: not named. */
  readonly data: string | null;
  /** Fields of `nvidia-smi --query-gpu` by GPU. Null: no nvidia-smi that works. */
  gpus(): Promise<readonly GpuFields[] | null>;
  /** A string says why torch could not be asked. */
  torch(): Promise<TorchFacts | string>;
  sizeOf(path: string): Promise<{ readonly size: number; readonly free: number } | null>;
  smallReads(folder: string): Promise<SmallReads | null>;
}

export type GpuFields = Readonly<Record<string, string>>;

export interface ProbeOptions {
  readonly pid: number | null;
  readonly python: string | null;
  readonly data: string | null;
}

/** Fields that every driver of the last years knows. */
const FIELDS = [
  'index',
  'name',
  'pci.bus_id',
  'driver_version',
  'persistence_mode',
  'temperature.gpu',
  'clocks.current.sm',
  'clocks.max.sm',
  'utilization.gpu',
  'power.draw',
  'power.limit',
  'power.default_limit',
  'pcie.link.gen.current',
  'pcie.link.gen.max',
  'pcie.link.width.current',
  'pcie.link.width.max',
  'clocks_throttle_reasons.active',
] as const;
const ASK_SECONDS = 15;

export function probeMachine(options: ProbeOptions): Probe {
  const files = filesBelow();
  // Node raises its own limits at the start: those of the shell are the user's.
  const pid = options.pid ?? process.ppid;
  const env = options.pid === null ? process.env : environmentOf(files, options.pid);
  const cores =
    countCpus(/^Cpus_allowed_list:\s*(\S+)/m.exec(files.read(`/proc/${pid}/status`) ?? '')?.[1]) ??
    availableParallelism();
  const { quota } = readCpuLimit(files, pid);
  const python = options.python ?? pythonOf(files, options.pid, env);
  return {
    files,
    run: runCommand,
    env,
    pid,
    cores,
    cpus: Math.min(cores, quota ?? cores),
    quota,
    data: options.data,
    gpus: once(() => queryGpus(runCommand)),
    torch: once(() => askTorch(runCommand, python)),
    sizeOf: fileSystemSize,
    smallReads: measureSmallReads,
  };
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null;
  return () => {
    answer ??= ask();
    return answer;
  };
}

function environmentOf(files: MachineFiles, pid: number): Record<string, string> {
  const text = files.read(`/proc/${pid}/environ`);
  if (text === null)
    throw new InputError(
      files.read(`/proc/${pid}/stat`) === null
        ? `there is no process ${pid}`
        : `process ${pid} belongs to another user: run with sudo to see its environment`,
    );
  const split = (entry: string) => [entry.split('=', 1)[0]!, entry.slice(entry.indexOf('=') + 1)] as const;
  return Object.fromEntries(zeroSeparated(text).map(split));
}

/** The Python of the job: of the named process, of the active environment, or the first on PATH. */
function pythonOf(files: MachineFiles, pid: number | null, env: Probe['env']): string {
  const named = pid === null ? '' : (zeroSeparated(files.read(`/proc/${pid}/cmdline`))[0] ?? '');
  if (/^\/.*python[\d.]*$/.test(named)) return named;
  const folders = [
    ...(env.VIRTUAL_ENV ? [join(env.VIRTUAL_ENV, 'bin')] : []),
    ...(env.PATH ?? '').split(delimiter).filter(Boolean),
  ];
  const found = folders
    .flatMap((f) => [join(f, 'python'), join(f, 'python3')])
    .find((path) => existsSync(path));
  return found ?? 'python3';
}

export async function queryGpus(run: RunCommand): Promise<readonly GpuFields[] | null> {
  const said = await run(
    'nvidia-smi',
    [`--query-gpu=${FIELDS.join(',')}`, '--format=csv,noheader'],
    ASK_SECONDS,
  );
  if (said?.code !== 0) return null;
  const rows = said.stdout.split('\n').map((line) => line.split(',').map((cell) => cell.trim()));
  return rows
    .filter((cells) => cells.length === FIELDS.length)
    .map((cells) => Object.fromEntries(FIELDS.map((field, i) => [field, cells[i]!])));
}
