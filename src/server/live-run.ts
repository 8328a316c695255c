import { freemem } from 'node:os';
import { InputError } from '../base/input-error.js';
import { openRun, recordedSoFar } from '../library/open-run.js';
import type { OpenedRun } from '../library/open-stream.js';
import type { PageState } from '../page/page-data.js';
import type { Shown } from './routes.js';

/** How often to look for new records, in ms. */
const EVERY_MS = 3000;
/** A diagnosis may take this share of the time: 5% of one core, at the lowest priority. */
const BUSY_SHARE = 0.05;

/** The run of a job that is still writing. Diagnosed again whenever there is more to read. */
export class LiveRun implements Shown {
  run: OpenedRun | null = null;
  #seen = '';
  #version = 0;
  #updated = performance.now();
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(
    readonly folder: string,
    readonly title: string | null = null,
    readonly open: typeof openRun = openRun,
    /** Of a GPU for an hour. */
    readonly price?: number,
  ) {}

  state(): PageState {
    return {
      of: this.#isEnded ? 'ended' : 'running',
      version: this.#version,
      lastStep: this.run?.page.report.step.last ?? null,
      age: (performance.now() - this.#updated) / 1000,
      folder: this.folder,
    };
  }

  /** Looks now, and again after a pause that grows with what a look costs. */
  start(): void {
    this.#looking = this.look().then((took) => {
      const pause = Math.max(EVERY_MS, took / BUSY_SHARE);
      if (!this.#isEnded) this.#timer = setTimeout(() => this.start(), pause);
    });
  }

  /** The job has ended: looks a last time. */
  async end(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    await this.#looking;
    if (this.#timer) clearTimeout(this.#timer);
    await this.look();
    this.#isEnded = true;
  }

  /** Nobody looks any more. */
  stop(): void {
    this.#isEnded = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  /** Diagnoses what is new. Returns how long it took, in ms. A folder that cannot be diagnosed yet changes nothing. */
  async look(): Promise<number> {
    const started = performance.now();
    try {
      const found = await recordedSoFar(this.folder);
      if (found === this.#seen) return 0;
      // What cannot be diagnosed now cannot be diagnosed later either, unless there is more.
      this.#seen = found;
      this.run = await this.open([this.folder], this.title, { jobs: 1, price: this.price }, memoryLimit());
      this.#version++;
      this.#updated = performance.now();
    } catch (error) {
      if (!(error instanceof InputError) && process.env.WHYSLOW_DEBUG) throw error;
    }
    return performance.now() - started;
  }
}

/** The job needs the memory: columns of traces that do not fit are read again when they are looked at. */
const memoryLimit = () => Math.min(1e9, freemem() / 8);
