import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownModes } from '../base/make-folders.js';
import { mayBeAlive, readRanks } from './job.js';
import { readJson } from './small-file.js';

/**
 * A request to a running job, through files in OUT/control: we write the request, rank 0 answers with a plan for a step that
 * no rank has reached yet, and every rank answers when it is done.
 */
interface Request {
  readonly id: string;
  readonly steps: number;
  /** Null: the ranks that the job's own configuration traces. */
  readonly ranks: readonly number[] | 'all' | null;
  /** How long we wait for answers. Ranks ignore a request older than that. */
  readonly waitSeconds: number;
}

export interface Plan {
  readonly firstStep: number;
  readonly steps: number;
  readonly ranks: readonly number[] | 'all';
}

export interface Answer {
  readonly rank: number;
  readonly status: 'done' | 'cut' | 'missed' | 'failed';
  readonly path: string | null;
  readonly firstStep: number | null;
  readonly lastStep: number | null;
  readonly message: string;
}

export class Conversation {
  readonly #out: string;
  readonly #request: Request;
  #asking: Promise<void> = Promise.resolve();

  constructor(out: string, request: Request) {
    this.#out = resolve(out);
    this.#request = request;
  }

  #file(name: string): string {
    return join(this.#out, 'control', name);
  }
  get #requestFile(): string {
    return this.#file(`request-${this.#request.id}.json`);
  }

  /** Writes the request in one step: ranks may read at any time. */
  ask(): Promise<void> {
    this.#asking = this.#ask();
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { id, steps, ranks, waitSeconds: wait_s } = this.#request;
    const asked_ns = Number(BigInt(Date.now()) * 1_000_000n);
    const temporary = this.#file(`.request-${id}.tmp`);
    const modes = ownModes(process.env);
    await mkdir(this.#file('.'), { recursive: true, mode: modes.folder });
    const text = `${JSON.stringify({ whyslow: 1, id, steps, ranks, asked_ns, wait_s })}\n`;
    await writeFile(temporary, text, { flag: 'wx', mode: modes.file });
    await rename(temporary, this.#requestFile);
  }

  /** Takes the request back. Ranks that already have the plan may still record it. */
  async withdraw(): Promise<void> {
    // If it is still being written, it would appear after it was removed.
    await this.#asking.catch(() => {});
    await rm(this.#requestFile, { force: true });
  }

  /** Removes the plan and the answers, once all ranks have answered. */
  async end(ranks: readonly number[]): Promise<void> {
    const names = [`plan-${this.#request.id}.json`, ...ranks.map((rank) => this.#answerName(rank))];
    await Promise.all(names.map((name) => rm(this.#file(name), { force: true })));
  }

  #answerName(rank: number): string {
    return `done-${this.#request.id}-rank-${rank}.json`;
  }

  async plan(): Promise<Plan | null> {
    const read = await readJson(this.#file(`plan-${this.#request.id}.json`));
    if (!read || typeof read.first_step !== 'number') return null;
    return {
      firstStep: read.first_step,
      steps: typeof read.steps === 'number' ? read.steps : this.#request.steps,
      ranks: Array.isArray(read.ranks) ? read.ranks.filter((rank) => Number.isInteger(rank)) : 'all',
    };
  }

  async answers(ranks: readonly number[]): Promise<readonly Answer[]> {
    const read = await Promise.all(ranks.map((rank) => this.#answer(rank)));
    return read.filter((answer) => answer !== null);
  }

  async #answer(rank: number): Promise<Answer | null> {
    const read = await readJson(this.#file(this.#answerName(rank)));
    if (!read) return null;
    const status = STATUSES.find((s) => s === read.status) ?? 'failed';
    return {
      rank,
      status,
      path: typeof read.path === 'string' ? this.#traceFile(read.path) : null,
      firstStep: typeof read.first_step === 'number' ? read.first_step : null,
      lastStep: typeof read.last_step === 'number' ? read.last_step : null,
      message: typeof read.message === 'string' ? read.message : '',
    };
  }

  /** The job may see OUT under another path (a container, another node): then the path inside OUT is used. */
  #traceFile(path: string): string {
    const direct = isAbsolute(path) ? path : join(this.#out, path);
    if (existsSync(direct)) return direct;
    const inside = path.lastIndexOf('traces/');
    const here = join(this.#out, path.slice(Math.max(0, inside)));
    return inside >= 0 && existsSync(here) ? here : direct;
  }
}

const STATUSES = ['done', 'cut', 'missed', 'failed'] as const;

/** How far a request for a trace has come. */
export interface Progress {
  readonly plan: Plan | null;
  /** Ranks that must answer. Before there is a plan: the rank that makes it. */
  readonly expected: readonly number[];
  readonly answers: readonly Answer[];
}

export interface Outcome extends Progress {
  /** Why we stopped waiting; null when all ranks have answered. */
  readonly gaveUp: string | null;
}

const POLL_MS = 200;
/** Checking thousands of ranks costs a shared file system more than looking for one file. */
const CHECK_RANKS_MS = 3000;
/** The rank that makes the plan. */
const PLANNER = 0;

export async function awaitAnswers(
  out: string,
  conversation: Conversation,
  timeoutSeconds: number,
  onProgress: (progress: Progress, seconds: number) => void,
): Promise<Outcome> {
  const started = Date.now();
  let checked = started;
  let progress: Progress = { plan: null, expected: [], answers: [] };
  for (;;) {
    progress = await proceed(progress, out, conversation);
    if (silentRanks(progress).length === 0) return { ...progress, gaveUp: null };
    const now = Date.now();
    if (now - started > timeoutSeconds * 1000)
      return { ...progress, gaveUp: `no answer within ${timeoutSeconds} s (--timeout)` };
    if (now - checked > CHECK_RANKS_MS) {
      checked = now;
      if (!mayBeAlive(await readRanks(out), now)) return { ...progress, gaveUp: 'the job has ended' };
    }
    onProgress(progress, (now - started) / 1000);
    await sleep(POLL_MS);
  }
}

/** Expected ranks that have not answered. */
export const silentRanks = ({ expected, answers }: Progress) =>
  expected.filter((rank) => !answers.some((answer) => answer.rank === rank));

async function proceed(before: Progress, out: string, conversation: Conversation): Promise<Progress> {
  if (before.plan) return { ...before, answers: await conversation.answers(before.expected) };
  // The planner may also refuse. Its answer is read before the plan: read after it, the answer might belong to a plan that
  // was written in between, and we would not wait for the other ranks.
  const refusal = await conversation.answers([PLANNER]);
  const plan = await conversation.plan();
  if (!plan) return { plan, expected: [PLANNER], answers: refusal };
  const expected = await ranksOf(plan, out);
  return { plan, expected, answers: await conversation.answers(expected) };
}

async function ranksOf(plan: Plan, out: string): Promise<readonly number[]> {
  if (plan.ranks !== 'all') return plan.ranks;
  const now = Date.now();
  return (await readRanks(out)).filter((m) => mayBeAlive([m], now)).map((m) => m.rank);
}
