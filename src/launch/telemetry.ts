import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, existsSync, type WriteStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Environment } from './environment.js';
import { fileNameOf } from './run-id.js';

/** Power, utilisation, clocks, violations, memory, errors, PCIe; older drivers refuse some of them. */
const METRICS = ['pucvmet', 'pucvm', 'puc'] as const;
const arguments_ = (metrics: string) => ['dmon', '-s', metrics, '-d', '1', '-o', 'DT'];
/** Where a job starts several of us on one machine, one of them watches its GPUs. */
const LOCAL_RANKS = ['SLURM_LOCALID', 'OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID'] as const;
/** To end after it was asked to; what it has written is kept in any case. */
const GRACE_MS = 1000;

export interface Telemetry {
  /** Ends it and waits until what it has said is in the file. */
  stop(): Promise<void>;
}

/** Watches the GPUs of this machine for the time of a run, when there is an nvidia-smi; never a reason to fail. */
export function startTelemetry(out: string, env: Environment): Telemetry {
  const isOther = LOCAL_RANKS.some((name) => Number(env[name] ?? 0) > 0);
  if (isOther || !isOnPath('nvidia-smi', env)) return { stop: async () => {} };
  // Line by line: what waits in a buffer when it is ended is lost.
  const lineByLine = isOnPath('stdbuf', env) ? ['stdbuf', '-oL'] : [];
  const watch = new Watch(join(out, 'telemetry'), [...lineByLine, 'nvidia-smi']);
  watch.start(METRICS);
  return { stop: () => watch.stop() };
}

function isOnPath(name: string, env: Environment): boolean {
  return (env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));
}

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
   * Its output comes through us and not by -f: should we be killed, its next line ends it too. In a group of its own, so
   * that the terminal's Ctrl-C leaves the end to us.
   */
  start(metrics: readonly string[]): void {
    const [first, ...fewer] = metrics;
    if (first === undefined || this.#stopped) return;
    const [program, ...words] = [...this.#command, ...arguments_(first)];
    const child = spawn(program!, words, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    this.#child = child;
    let said = Promise.resolve();
    child.stdout.on('data', (text: Buffer) => {
      said = said.then(() => this.#write(text));
    });
    this.#ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('close', (code) => {
        if (code) this.start(fewer);
        resolve(said);
      });
    });
  }

  async #write(text: Buffer): Promise<void> {
    // It starts with its header; anything else is a complaint, such as that there is no driver.
    if (this.#file === null && !/^\s*#/.test(text.toString('latin1'))) return;
    this.#file ??= newFile(this.#folder).catch(() => null);
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

/** `dmon-<host>.txt`; a run that goes on after a restart gets the next number. */
async function newFile(folder: string): Promise<WriteStream> {
  await mkdir(folder, { recursive: true });
  const base = `dmon-${fileNameOf(hostname())}`;
  for (let n = 1; ; n++) {
    const path = join(folder, n === 1 ? `${base}.txt` : `${base}.${n}.txt`);
    try {
      const handle = await open(path, 'wx');
      await handle.close();
      return createWriteStream(path, { flags: 'a' }).on('error', () => {}); // a full disk: the job goes on
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
