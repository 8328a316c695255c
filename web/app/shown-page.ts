import { signal } from '@preact/signals';
import type { PageData, PageState } from '../../src/page/page-data.js';
import type { PageSource } from './source.js';

/** A job that is being measured. */
export interface Job {
  readonly state: PageState;
  /** Seconds since the last diagnosis. */
  readonly age: number;
  /** The server does not answer any more. */
  readonly isLost: boolean;
}

const POLL_MS = 1000;
/** A busy machine may miss a few answers. */
const MOST_MISSED = 5;

/** What a source shows now. Asks again while a job runs. */
export class ShownPage {
  readonly page = signal<PageData | null>(null);
  /** Null: the page does not change. */
  readonly job = signal<Job | null>(null);
  /** Nothing was named to open. */
  readonly isEmpty = signal(false);
  readonly failure = signal<string | null>(null);
  #version = 0;
  #missed = 0;

  constructor(readonly source: PageSource) {}

  async start(): Promise<void> {
    try {
      const state = await this.source.state();
      if (state?.of === 'empty') this.isEmpty.value = true;
      else if (!state || state.of === 'whole') this.page.value = await this.source.page();
      else await this.#follow(state);
    } catch (error) {
      this.failure.value = error instanceof Error ? error.message : String(error);
    }
  }

  async #follow(state: PageState): Promise<void> {
    // Without a step there is nothing to show while the job runs.
    if (state.version !== this.#version && (state.lastStep !== null || state.of === 'ended')) {
      this.page.value = await this.source.page();
      this.#version = state.version;
    }
    this.job.value = { state, age: state.age, isLost: false };
    if (state.of === 'running') setTimeout(() => void this.#ask(), POLL_MS);
  }

  async #ask(): Promise<void> {
    try {
      const state = await this.source.state();
      this.#missed = 0;
      if (state) await this.#follow(state);
    } catch {
      const { job } = this;
      const isLost = ++this.#missed >= MOST_MISSED;
      if (job.value) job.value = { ...job.value, age: job.value.age + POLL_MS / 1000, isLost };
      if (!isLost) setTimeout(() => void this.#ask(), POLL_MS);
    }
  }
}
