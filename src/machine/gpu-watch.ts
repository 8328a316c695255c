import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunCommand } from './files.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Power, utilization, clocks, violations, memory, errors, PCIe. Older drivers refuse some of them; some GPUs refuse dmon. */
const WAYS = [
  ['dmon', '-s', 'pucvmet', '-d', '1', '-o', 'DT'],
  ['dmon', '-s', 'pucvm', '-d', '1', '-o', 'DT'],
  ['dmon', '-s', 'puc', '-d', '1', '-o', 'DT'],
  [
    '--query-gpu=timestamp,index,name,utilization.gpu,utilization.memory,clocks.current.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu',
    '--format=csv',
    '-l',
    '1',
  ],
] as const;
/** What dmon does not say. */
const LIMITS = ['--query-gpu=index,name,clocks.max.sm,power.limit', '--format=csv'];
const ASK_SECONDS = 10;
const GRACE_MS = 1000;

/** The GPUs of a machine while we watch. */
export interface GpuWatch {
  /** Everything printed until now. Null: nothing useful. */
  text(): string | null;
  /** Why there is nothing; null while there is. */
  problem(): string | null;
  stop(): Promise<void>;
}

export async function watchGpus(run: RunCommand, env: Environment): Promise<GpuWatch> {
  if (isOnPath('nvidia-smi', env)) {
    const limits = await run('nvidia-smi', LIMITS, ASK_SECONDS);
    return new NvidiaWatch(limits?.code === 0 ? limits.stdout : '', env);
  }
  return isOnPath('rocm-smi', env) ? new RocmWatch(run) : NONE;
}

const NONE: GpuWatch = {
  text: () => null,
  problem: () => 'there is no nvidia-smi or rocm-smi on PATH',
  stop: async () => {},
};

export const isOnPath = (name: string, env: Environment): boolean =>
  (env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));

/** What becomes of the output of nvidia-smi. */
interface Listener {
  /** More of a table. */
  readonly table: (text: string) => void;
  /** Anything else: an error message, e.g. that there is no driver. */
  readonly complaint?: (text: string) => void;
}

/**
 * One nvidia-smi that prints every second. Its output comes through a pipe and not by -f: if we are killed, writing the next
 * line ends it too.
 */
export class NvidiaSmi {
  readonly #env: Environment;
  readonly #listener: Listener;
  readonly #detached: boolean;
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** `detached`: in a process group of its own, so that Ctrl-C in the terminal does not end it before we do. */
  constructor(env: Environment, listener: Listener, detached = false) {
    this.#env = env;
    this.#listener = listener;
    this.#detached = detached;
    this.#start(WAYS);
  }

  /** Tries one way after the other until one prints a table. */
  #start([way, ...more]: readonly (readonly string[])[]): void {
    if (way === undefined || this.#isStopped) return;
    // What is still buffered when it is ended would be lost.
    const lineByLine = isOnPath('stdbuf', this.#env) ? ['stdbuf', '-oL'] : [];
    const [program, ...args] = [...lineByLine, 'nvidia-smi', ...way];
    const child = spawn(program!, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...this.#env },
      detached: this.#detached,
    });
    this.#child = child;
    const { table, complaint = () => {} } = this.#listener;
    let before = '';
    let isGood = false;
    child.stdout.setEncoding('latin1').on('data', (text: string) => {
      if (isGood) return table(text);
      before += text;
      isGood = isTable(before);
      (isGood ? table : complaint)(before);
    });
    child.stderr.setEncoding('latin1').on('data', complaint);
    this.#ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('close', () => {
        if (!isGood) this.#start(more);
        resolve();
      });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill('SIGTERM');
    const late = setTimeout(() => this.#child?.kill('SIGKILL'), GRACE_MS);
    await this.#ended;
    clearTimeout(late);
  }
}

class NvidiaWatch implements GpuWatch {
  readonly #limits: string;
  readonly #smi: NvidiaSmi;
  #printed = '';
  #complaint = '';

  constructor(limits: string, env: Environment) {
    this.#limits = limits;
    this.#smi = new NvidiaSmi(env, {
      table: (text) => {
        this.#printed += text;
      },
      complaint: (text) => {
        this.#complaint = text;
      },
    });
  }

  text(): string | null {
    return this.#printed === '' ? null : this.#limits + this.#printed;
  }

  problem(): string | null {
    if (this.#printed !== '') return null;
    const words = this.#complaint
      .replace(/[^\x20-\x7e]+/g, ' ')
      .trim()
      .slice(0, 200);
    return words === '' ? 'nvidia-smi printed nothing' : `nvidia-smi does not work: ${words}`;
  }

  stop(): Promise<void> {
    return this.#smi.stop();
  }
}

/** It has a header of dmon or of a query. */
const isTable = (text: string) => /^\s*#\s*(?:date|time|gpu)\b|^timestamp, index/im.test(text);

/** rocm-smi has no way to print on: it is asked every second. */
class RocmWatch implements GpuWatch {
  #objects = '';
  #complaint: string | null = null;
  #isStopped = false;
  readonly #asking: Promise<void>;

  constructor(run: RunCommand) {
    this.#asking = this.#ask(run);
  }

  async #ask(run: RunCommand): Promise<void> {
    while (!this.#isStopped) {
      const said = await run('rocm-smi', ROCM_ARGUMENTS, ASK_SECONDS);
      // Warnings may come before the object.
      const cards = /^\{"(?:card|system).*\}$/m.exec(said?.stdout ?? '')?.[0];
      if (cards === undefined) this.#complaint = 'rocm-smi --json printed nothing that can be read';
      else this.#objects += `${cards}\n`;
      for (let waited = 0; waited < 1000 && !this.#isStopped; waited += 50) await sleep(50);
    }
  }

  text(): string | null {
    return this.#objects || null;
  }

  problem(): string | null {
    return this.#objects === '' ? (this.#complaint ?? 'rocm-smi printed nothing') : null;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#asking;
  }
}

const ROCM_ARGUMENTS = ['--showuse', '--showclocks', '--showpower', '--showmaxpower', '--showtemp', '--json'];
