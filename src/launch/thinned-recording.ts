import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { headerLine, processLine, sampleLine } from '../machine/recording-file.js';
import type { MachineFacts, MachineSample, ProcessFacts } from '../model/recording.js';

/** Limits of a file, above which every second sample is dropped. */
export interface Limits {
  readonly samples: number;
  readonly bytes: number;
}

/** Five minutes with two samples per second. A job of 8 ranks with 8 workers each writes about 40 kB per sample. */
const LIMITS: Limits = { samples: 600, bytes: 8e6 };

interface WrittenSample {
  readonly pids: readonly number[];
  readonly line: string;
}

/**
 * A recording of a job of any length in a file of bounded size. Once it is full, every second sample is dropped, and further
 * ones are to come half as often, so that samples stay evenly spread over the job.
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
    const written = { pids: sample.processes.map((p) => p.pid), line: sampleLine(sample) };
    this.#samples.push(written);
    this.#append([...changed, written.line]);
    if (this.#samples.length > this.#limits.samples || this.#bytes >= this.#limits.bytes) this.#thin();
  }

  /** A reader must never see half a file: the new one takes the place of the old. */
  #thin(): void {
    this.stretch *= 2;
    this.#samples = this.#samples.filter((_, i) => i % 2 === 0);
    const kept = new Set(this.#samples.flatMap((s) => s.pids));
    for (const pid of this.#processes.keys()) if (!kept.has(pid)) this.#processes.delete(pid);
    const lines = [this.#header, ...this.#processes.values(), ...this.#samples.map((s) => s.line)];
    const text = `${lines.join('\n')}\n`;
    writeFileSync(`${this.#path}.new`, text);
    renameSync(`${this.#path}.new`, this.#path);
    this.#bytes = Buffer.byteLength(text);
  }

  #append(lines: readonly string[]): void {
    const text = `${lines.join('\n')}\n`;
    appendFileSync(this.#path, text);
    this.#bytes += Buffer.byteLength(text);
  }
}
