import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROCM_NAMES, type RocmFigure } from '../model/telemetry.js';
import type { RunCommand } from './files.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Older drivers refuse some metrics of dmon; some GPUs refuse dmon. */
const WAYS = [
  ['dmon', '-s', 'pucvmet', '-d', '1', '-o', 'DT'],
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
    const watch = new NvidiaWatch(limits?.code === 0 ? limits.stdout : '', env);
    watch.start(WAYS);
    return watch;
  }
  return isOnPath('rocm-smi', env) ? new RocmWatch(run) : NONE;
}

const NONE: GpuWatch = {
  text: () => null,
  problem: () => 'there is no nvidia-smi or rocm-smi on PATH',
  stop: async () => {},
};

const isOnPath = (name: string, env: Environment): boolean =>
  (env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));

/** One nvidia-smi that prints every second. */
class NvidiaWatch implements GpuWatch {
  readonly #limits: string;
  readonly #env: Environment;
  #printed = '';
  #complaint = '';
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(limits: string, env: Environment) {
    this.#limits = limits;
    this.#env = env;
  }

  /** Tries one way after the other until one prints a table. */
  start([way, ...more]: readonly (readonly string[])[]): void {
    if (way === undefined || this.#isStopped) return;
    // What is still buffered when it is ended would be lost.
    const lineByLine = isOnPath('stdbuf', this.#env) ? ['stdbuf', '-oL'] : [];
    const [program, ...args] = [...lineByLine, 'nvidia-smi', ...way];
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...this.#env } });
    this.#child = child;
    let printed = '';
    const hear = (text: Buffer) => {
      printed += text.toString('latin1');
      if (isTable(printed)) this.#printed = printed;
      else this.#complaint = printed;
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', (text: Buffer) => {
      this.#complaint = text.toString('latin1');
    });
    this.#ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('close', () => {
        if (!isTable(printed)) this.start(more);
        resolve();
      });
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

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill('SIGTERM');
    const late = setTimeout(() => this.#child?.kill('SIGKILL'), GRACE_MS);
    await this.#ended;
    clearTimeout(late);
  }
}

/** A header of dmon or of a query. Anything else is an error message, or not nvidia-smi at all. */
const isTable = (text: string) => /^\s*#\s*(?:date|time|gpu)\b|^timestamp, index/im.test(text);

/** rocm-smi has no way to print on: it is asked every second. */
class RocmWatch implements GpuWatch {
  #rows = '';
  #complaint: string | null = null;
  #isStopped = false;
  readonly #asking: Promise<void>;

  constructor(run: RunCommand) {
    this.#asking = this.#ask(run);
  }

  async #ask(run: RunCommand): Promise<void> {
    while (!this.#isStopped) {
      const said = await run('rocm-smi', ROCM_ARGUMENTS, ASK_SECONDS);
      const rows = rocmAsQuery(said?.stdout ?? '');
      if (rows === null) this.#complaint = 'rocm-smi --json printed nothing that can be read';
      else this.#rows += rows;
      for (let waited = 0; waited < 1000 && !this.#isStopped; waited += 50) await sleep(50);
    }
  }

  text(): string | null {
    return this.#rows === '' ? null : ROCM_HEADER + this.#rows;
  }

  problem(): string | null {
    return this.#rows === '' ? (this.#complaint ?? 'rocm-smi printed nothing') : null;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#asking;
  }
}

/** rocm-smi's JSON as the CSV that nvidia-smi's query prints, so that one reader reads both. Null: not such JSON. */
export function rocmAsQuery(text: string): string | null {
  const cards = cardsOf(text);
  if (cards === null) return null;
  return cards
    .map(([index, card]) => `${index}, ${COLUMNS.map(({ of }) => figure(card, of)).join(', ')}\n`)
    .join('');
}

const COLUMNS: readonly { readonly name: string; readonly of: RocmFigure }[] = [
  { name: 'utilization.gpu [%]', of: 'utilization' },
  { name: 'clocks.current.sm [MHz]', of: 'smClock' },
  { name: 'power.draw [W]', of: 'power' },
  { name: 'power.limit [W]', of: 'powerLimit' },
  { name: 'temperature.gpu', of: 'temperature' },
];

export const ROCM_HEADER = `index, ${COLUMNS.map(({ name }) => name).join(', ')}\n`;
const ROCM_ARGUMENTS = ['--showuse', '--showclocks', '--showpower', '--showmaxpower', '--showtemp', '--json'];

/** `card0`, `card1`, … with their fields. */
function cardsOf(text: string): [number, Readonly<Record<string, unknown>>][] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return null;
    const cards = Object.entries(parsed).flatMap(([name, card]: [string, unknown]) => {
      const index = /^card(\d{1,3})$/.exec(name)?.[1];
      const isCard = index !== undefined && typeof card === 'object' && card !== null;
      return isCard
        ? [[Number(index), card as Record<string, unknown>] as [number, Record<string, unknown>]]
        : [];
    });
    return cards.length > 0 ? cards : null;
  } catch {
    return null;
  }
}

/** `"(1500Mhz)"`, `"41.0"`, `300`. */
function figure(card: Readonly<Record<string, unknown>>, of: RocmFigure): string {
  const keys = Object.keys(card);
  const key = ROCM_NAMES[of].flatMap((name) => keys.find((k) => name.test(k)) ?? [])[0];
  return /\d+(?:\.\d+)?/.exec(String((key && card[key]) ?? ''))?.[0] ?? '[N/A]';
}
