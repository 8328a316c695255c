import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, existsSync, type WriteStream } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from './environment.js';
import { newTelemetryFile } from './run-id.js';

/** Power, utilization, clocks, violations, memory, errors, PCIe. Older drivers refuse some, so fewer are tried next. */
const METRICS = ['pucvmet', 'pucvm', 'puc'] as const;
/** If a job starts whyslow several times on one machine, only local rank 0 watches the GPUs. */
const LOCAL_RANKS = ['SLURM_LOCALID', 'OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID'] as const;
/** How long nvidia-smi and the recorder may take to end after SIGTERM. What they have written is kept in any case. */
const GRACE_MS = 1000;

interface Telemetry {
  /** Ends nvidia-smi and waits until its output is in the file. */
  stop(): Promise<void>;
}

/** Records the GPUs of this machine during a run, if there is an nvidia-smi. Never fails. */
export function startTelemetry(out: string, env: Environment): Telemetry {
  const isOther = LOCAL_RANKS.some((name) => Number(env[name] ?? 0) > 0);
  if (isOther || !isOnPath('nvidia-smi', env)) return { stop: async () => {} };
  // Line by line: what is still buffered when nvidia-smi is ended is lost.
  const lineByLine = isOnPath('stdbuf', env) ? ['stdbuf', '-oL'] : [];
  const watch = new Watch(join(out, 'telemetry'), [...lineByLine, 'nvidia-smi']);
  watch.start(METRICS);
  return { stop: () => watch.stop() };
}

function isOnPath(name: string, env: Environment): boolean {
  return (env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));
}

/** Writing may fail, for a full disk for one: the job goes on. */
const stream = (path: string) => createWriteStream(path, { flags: 'a' }).on('error', () => {});

class Watch {
  readonly #folder: string;
  readonly #command: readonly string[];
  #child: ChildProcess | null = null;
  #file: Promise<WriteStream | null> | null = null;
  #ended: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(folder: string, command: readonly string[]) {
    this.#folder = folder;
    this.#command = command;
  }

  /**
   * The output comes through a pipe and not by -f: if we are killed, writing the next line ends nvidia-smi too. It is in a
   * process group of its own, so that Ctrl-C in the terminal does not end it before we do.
   */
  start(metrics: readonly string[]): void {
    const [first, ...fewer] = metrics;
    if (first === undefined || this.#stopped) return;
    const [program, ...words] = [...this.#command, 'dmon', '-s', first, '-d', '1', '-o', 'DT'];
    const child = spawn(program!, words, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    this.#child = child;
    let written = Promise.resolve();
    child.stdout.on('data', (text: Buffer) => {
      written = written.then(() => this.#write(text));
    });
    this.#ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('close', (code) => {
        if (code) this.start(fewer);
        resolve(written);
      });
    });
  }

  async #write(text: Buffer): Promise<void> {
    // Real output starts with a header. Anything else is an error message, e.g. that there is no driver.
    if (this.#file === null && !/^\s*#/.test(text.toString('latin1'))) return;
    this.#file ??= newTelemetryFile(this.#folder, 'dmon', 'txt').then(stream, () => null);
    (await this.#file)?.write(text);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#child?.kill('SIGTERM');
    const late = setTimeout(() => this.#child?.kill('SIGKILL'), GRACE_MS);
    await this.#ended;
    clearTimeout(late);
    const file = await this.#file;
    if (file) await new Promise<void>((resolve) => file.end(() => resolve()));
  }
}

/** It holds the text of one file, at most 8 MB. */
const MEMORY_MB = 96;

interface ProcessTelemetry {
  /** Called with the root of the job once it has started. */
  watch(pid: number): void;
  stop(): Promise<void>;
}

/** Records what the processes of a job do, from /proc, to OUT/telemetry/proc-<host>.jsonl. Linux only. Never fails. */
export function processTelemetry(out: string): ProcessTelemetry {
  let ended: Promise<void> = Promise.resolve();
  let end = () => {};
  const start = (pid: number): Promise<void> => {
    // The bundle has recorder.js next to this module.
    const program = fileURLToPath(new URL('./recorder.js', import.meta.url));
    const options = [`--max-old-space-size=${MEMORY_MB}`, '--v8-pool-size=1'];
    const child = spawn(process.execPath, [...options, program, `${pid}`, join(out, 'telemetry')], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C in the terminal must not end it before the job.
      detached: true,
      env: {},
    });
    child.stdin.on('error', () => {});
    return new Promise<void>((resolve) => {
      child.once('error', () => resolve()).once('close', () => resolve());
      end = () => {
        child.kill('SIGTERM');
        setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
      };
    });
  };
  return {
    watch: (pid) => {
      if (process.platform === 'linux') ended = start(pid);
    },
    stop: async () => {
      end();
      await ended;
    },
  };
}
