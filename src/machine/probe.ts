import { existsSync, readdirSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { InputError } from '../base/input-error.js';
import { median } from '../base/statistics.js';
import { readCpuLimit } from './cgroup.js';
import { filesBelow, type MachineFiles, type RunCommand, runCommand } from './files.js';
import { countCpus, zeroSeparated } from './proc-text.js';

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

/** What the installed torch says of itself. */
export interface TorchFacts {
  readonly version: string;
  /** CUDA or ROCm that it was built for. Null: a build for CPUs. */
  readonly cuda: string | null;
  readonly hip: string | null;
  readonly cudnn: number | null;
  readonly available: boolean;
  /** Of the first GPU: `[9, 0]`. */
  readonly capability: readonly [number, number] | null;
  readonly architectures: readonly string[];
  readonly tf32: boolean;
  readonly tf32Convolutions: boolean;
  readonly cudnnBenchmark: boolean;
  readonly threads: number;
}

/** Torch may take long to import from a network disk. */
const SECONDS = 120;
const SCRIPT = `
import json, torch
gpu = torch.cuda.is_available()
print("whyslow" + json.dumps({
  "version": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip,
  "cudnn": torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None,
  "available": gpu, "capability": list(torch.cuda.get_device_capability()) if gpu else None,
  "architectures": torch.cuda.get_arch_list() if gpu else [],
  "tf32": torch.get_float32_matmul_precision() != "highest",
  "tf32_convolutions": torch.backends.cudnn.allow_tf32,
  "cudnn_benchmark": torch.backends.cudnn.benchmark, "threads": torch.get_num_threads()}))
`;

/** Asks a Python. A string says why it could not answer. */
async function askTorch(run: RunCommand, python: string): Promise<TorchFacts | string> {
  const said = await run(python, ['-c', SCRIPT], SECONDS);
  if (said === null) return `there is no ${python}`;
  const line = /^whyslow(\{.*\})$/m.exec(said.stdout)?.[1];
  if (line === undefined) {
    const last = said.stderr.trim().split('\n').at(-1)?.slice(0, 200);
    return /No module named 'torch'/.test(said.stderr)
      ? `${python} has no torch`
      : `${python} could not import torch: ${last || 'it printed nothing'}`;
  }
  try {
    const raw = JSON.parse(line) as Record<string, never>;
    return {
      version: raw.version!,
      cuda: raw.cuda ?? null,
      hip: raw.hip ?? null,
      cudnn: raw.cudnn ?? null,
      available: raw.available === true,
      capability: raw.capability ?? null,
      architectures: raw.architectures ?? [],
      tf32: raw.tf32 === true,
      tf32Convolutions: raw.tf32_convolutions === true,
      cudnnBenchmark: raw.cudnn_benchmark === true,
      threads: raw.threads ?? 1,
    };
  } catch {
    return `${python} printed something else`;
  }
}

/** What reading small files of a folder takes. */
interface SmallReads {
  readonly files: number;
  /** Milliseconds for opening a file and reading its first 64 KiB, the median. */
  readonly medianMs: number;
  readonly filesPerSecond: number;
}

const MAX_FILES = 200;
const MAX_ENTRIES = 5000;
const MAX_MS = 3000;
const READ_BYTES = 64 * 1024;

/** Reads files one after the other, spread over the folder. Null: it has none, or cannot be read. */
async function measureSmallReads(folder: string): Promise<SmallReads | null> {
  const paths = filesIn(folder);
  const every = Math.max(1, Math.floor(paths.length / MAX_FILES));
  const chosen = paths.filter((_, i) => i % every === 0).slice(0, MAX_FILES);
  const buffer = Buffer.alloc(READ_BYTES);
  const times: number[] = [];
  const started = performance.now();
  for (const path of chosen) {
    const before = performance.now();
    if (before - started > MAX_MS) break;
    try {
      const file = await open(path, 'r');
      await file.read(buffer, 0, READ_BYTES, 0).finally(() => file.close());
      times.push(performance.now() - before);
    } catch {
      // Not ours to read: others are.
    }
  }
  const total = times.reduce((sum, t) => sum + t, 0);
  return times.length === 0
    ? null
    : { files: times.length, medianMs: median(times), filesPerSecond: (1000 * times.length) / total };
}

/** Plain files of a folder and those below it, as far as a few thousand entries go. */
function filesIn(folder: string): string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let entries = 0; folders.length > 0 && entries < MAX_ENTRIES; ) {
    const at = folders.shift()!;
    try {
      for (const entry of readdirSync(at, { withFileTypes: true })) {
        if (++entries > MAX_ENTRIES) break;
        if (entry.isDirectory()) folders.push(join(at, entry.name));
        else if (entry.isFile()) found.push(join(at, entry.name));
      }
    } catch {
      // Cannot be listed: the rest can.
    }
  }
  return found;
}

/** Size and free space of a file system in bytes. Null: not there. */
async function fileSystemSize(
  path: string,
): Promise<{ readonly size: number; readonly free: number } | null> {
  const found = await statfs(path).catch(() => null);
  return found && { size: found.blocks * found.bsize, free: found.bavail * found.bsize };
}
