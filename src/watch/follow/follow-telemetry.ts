import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readRanks } from '../../launch/job.js';
import { GpuUsage } from '../machine/gpu-usage.js';
import { JobUsage } from '../machine/job-usage.js';
import type { Machines } from '../machine/machines.js';
import { GrowingFile } from './growing-file.js';

const NAME = /^(proc|dmon)-(.+?)(?:\.\d+)?\.(?:jsonl|txt)$/;
const CHUNK = 256 << 10;
/** More machines than any job has. */
const MOST_FILES = 4096;
/** Between looks for new files and at which host each rank is. */
const FIND_MS = 10_000;

/** What `whyslow run` records of the machines of a job: OUT/telemetry, one file per machine and kind. */
export class FollowedTelemetry {
  readonly #out: string;
  readonly #machines: Machines;
  readonly #files = new Map<string, { readonly file: GrowingFile; readonly gpu: GpuUsage | null }>();
  #found = Number.NEGATIVE_INFINITY;

  constructor(out: string, machines: Machines) {
    this.#out = out;
    this.#machines = machines;
  }

  /** Reads what is new, at most until `isEnough`. True: there may be more. */
  async read(isEnough: () => boolean): Promise<boolean> {
    await this.#find();
    for (const { file, gpu } of this.#files.values()) {
      do {
        if (isEnough()) return true;
        await file.read();
      } while (!file.isAtEnd);
      gpu?.writtenAt(file.writtenMs);
    }
    return false;
  }

  async #find(): Promise<void> {
    const now = performance.now();
    if (now - this.#found < FIND_MS) return;
    this.#found = now;
    const names = await readdir(join(this.#out, 'telemetry')).catch(() => []);
    for (const name of names) {
      const [, kind, host = ''] = NAME.exec(name) ?? [];
      if (kind === undefined || this.#files.has(name) || this.#files.size >= MOST_FILES) continue;
      const gpu = kind === 'dmon' ? new GpuUsage() : null;
      const job = gpu ? null : new JobUsage();
      if (gpu) this.#machines.gpus.push({ host, usage: gpu });
      if (job) this.#machines.jobs.push(job);
      const file = new GrowingFile(join(this.#out, 'telemetry', name), (gpu ?? job)!, CHUNK);
      this.#files.set(name, { file, gpu });
    }
    for (const { rank, host } of await readRanks(this.#out)) this.#machines.hostOf.set(rank, host);
  }
}
