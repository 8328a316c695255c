import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownModes } from '../base/make-folders.js';
import { filesBelow } from '../machine/files.js';
import { JobSampler, machineFacts } from '../machine/job-sampler.js';
import { headerLine, processLine, sampleLine } from '../machine/recording-file.js';
import type { MachineFacts, MachineSample, ProcessFacts, ProcessSample } from '../model/recording.js';
import { newTelemetryFile } from './run-id.js';

export interface RecordOptions {
  /** The process at the root of the job. */
  readonly pid: number;
  /** Where to write proc-<host>.jsonl. */
  readonly folder: string;
  /** Between samples, at first. */
  readonly everyMs?: number;
  readonly limits?: Limits;
  /** Ends the recording. */
  readonly stopped: AbortSignal;
}

const EVERY_MS = 500;
/** Of one core. A sample of a large job takes tens of milliseconds: then they come less often. */
const MOST_CPU = 0.005;
/** Seconds of CPU time that are free: the first samples of a short job are worth it. */
const FREE_CPU = 0.5;
/** Threads that used less of a core since the start are not written, but for the main thread and torch's own. */
const LEAST_USE = 0.002;

/** Samples a job until it ends or `stopped`. Whatever fails, a full disk for one, ends the recording and nothing else. */
export async function recordProcesses({
  pid,
  folder,
  everyMs,
  limits,
  stopped,
}: RecordOptions): Promise<void> {
  const files = filesBelow();
  const sampler = new JobSampler(files, pid);
  const machine = { ...machineFacts(files, pid), pid, gpus: null, noGpu: OTHER_FILE, others: [], hidden: 0 };
  let recording: ThinnedRecording | null = null;
  const started = performance.now();
  let spent = 0;
  while (!stopped.aborted) {
    const before = cpuSeconds();
    const sample = sampler.take((performance.now() - started) / 1000);
    if (sample.processes.length === 0) return;
    // The file begins with the training. A job that does not train leaves none.
    if (sampler.processes.some((p) => p.torch))
      recording ??= new ThinnedRecording(await newTelemetryFile(folder, 'proc', 'jsonl'), machine, limits);
    recording?.add(sampler.processes, withoutIdleThreads(sample));
    const earned = (performance.now() - started) / 1000;
    spent += cpuSeconds() - before;
    const owed = (spent - FREE_CPU) / MOST_CPU - earned;
    const pause = Math.max((everyMs ?? EVERY_MS) * (recording?.stretch ?? 1), 1000 * owed);
    await sleep(pause, null, { signal: stopped }).catch(() => {});
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const OTHER_FILE = '`whyslow run` writes what nvidia-smi says to a file of its own';

function withoutIdleThreads({ processes, ...rest }: MachineSample): MachineSample {
  const least = LEAST_USE * rest.seconds;
  const counts = (t: ProcessSample['threads'][number], i: number) =>
    i === 0 || t.name.startsWith('pt_') || t.cpu + (t.delayed ?? 0) > least;
  return { ...rest, processes: processes.map((p) => ({ ...p, threads: p.threads.filter(counts) })) };
}

/** Limits of a file, above which every second sample is dropped. */
export interface Limits {
  readonly samples: number;
  readonly bytes: number;
}

/** Five minutes with two samples per second. A job of 8 ranks with 8 workers each writes about 40 kB per sample. */
const LIMITS: Limits = { samples: 600, bytes: 8e6 };

/** The pause between samples grows to so many times the first one: someone who watches the job asks what just changed. */
const MOST_STRETCH = 16;
/** The last ones are kept, at most a quarter of all. */
const RECENT = 1 / 4;

interface WrittenSample {
  readonly seconds: number;
  readonly pids: readonly number[];
  readonly line: string;
}

/**
 * A recording of a job of any length in a file of bounded size. Once it is full, every second sample is dropped, and further
 * ones are to come half as often, so that samples stay evenly spread over the job. In a long job the last ones are closer.
 */
export class ThinnedRecording {
  readonly #path: string;
  readonly #header: string;
  readonly #limits: Limits;
  readonly #processes = new Map<number, string>();
  #samples: WrittenSample[] = [];
  #bytes = 0;
  /** How many times longer the pause between samples is than at first. */
  stretch = 1;

  constructor(path: string, machine: MachineFacts, limits = LIMITS) {
    this.#path = path;
    this.#limits = limits;
    this.#header = headerLine(machine);
    this.#append([this.#header]);
  }

  add(processes: readonly ProcessFacts[], sample: MachineSample): void {
    const changed = processes.flatMap((p) => {
      const line = processLine(p);
      if (this.#processes.get(p.pid) === line) return [];
      this.#processes.set(p.pid, line);
      return [line];
    });
    const written = {
      seconds: sample.seconds,
      pids: sample.processes.map((p) => p.pid),
      line: sampleLine(sample),
    };
    this.#samples.push(written);
    this.#append([...changed, written.line]);
    if (this.#samples.length > this.#limits.samples || this.#bytes >= this.#limits.bytes) this.#thin();
  }

  /** A reader must never see half a file: the new one takes the place of the old. */
  #thin(): void {
    if (this.stretch < MOST_STRETCH) {
      this.stretch *= 2;
      this.#samples = this.#samples.filter((_, i) => i % 2 === 0);
    } else this.#samples = withSparsePast(this.#samples);
    const kept = new Set(this.#samples.flatMap((s) => s.pids));
    for (const pid of this.#processes.keys()) if (!kept.has(pid)) this.#processes.delete(pid);
    const lines = [this.#header, ...this.#processes.values(), ...this.#samples.map((s) => s.line)];
    const text = `${lines.join('\n')}\n`;
    writeFileSync(`${this.#path}.new`, text, { mode: ownModes(process.env).file });
    renameSync(`${this.#path}.new`, this.#path);
    this.#bytes = Buffer.byteLength(text);
  }

  #append(lines: readonly string[]): void {
    const text = `${lines.join('\n')}\n`;
    appendFileSync(this.#path, text);
    this.#bytes += Buffer.byteLength(text);
  }
}

/** Half of the samples: the last ones, and of those before as many as are evenly spread. */
function withSparsePast(samples: readonly WrittenSample[]): WrittenSample[] {
  const recent = Math.max(1, Math.floor(RECENT * samples.length));
  const [past, kept] = [samples.slice(0, -recent), samples.slice(-recent)];
  const [first, last] = [past[0]!.seconds, past.at(-1)!.seconds];
  const count = Math.max(1, Math.floor(samples.length / 2) - recent);
  const spread = new Set<WrittenSample>();
  let at = 0;
  for (let i = 0; i < count; i++) {
    const wanted = first + ((last - first) * i) / count;
    const distance = (n: number) => Math.abs(past[n]!.seconds - wanted);
    while (at + 1 < past.length && distance(at + 1) <= distance(at)) at++;
    spread.add(past[at]!);
  }
  return [...spread, ...kept];
}
