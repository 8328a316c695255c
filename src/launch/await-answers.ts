import { setTimeout as sleep } from 'node:timers/promises';
import { mayBeAlive, readRanks } from './job.js';
import type { Answer, Conversation, Plan } from './on-demand.js';

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
