import { setTimeout as sleep } from 'node:timers/promises';
import { mayBeAlive, readRanks } from './job.js';
import type { Answer, Conversation, Plan } from './on-demand.js';

/** How a request for a window stands. */
export interface Progress {
  readonly plan: Plan | null;
  /** Ranks that are to answer; before there is a plan, the one that makes it. */
  readonly expected: readonly number[];
  readonly answers: readonly Answer[];
}

export interface Outcome extends Progress {
  /** Why nobody is waited for any longer; null: all have answered. */
  readonly gaveUp: string | null;
}

const POLL_MS = 200;
/** Looking after thousands of ranks costs a shared file system more than looking for one file. */
const LOOK_AFTER_RANKS_MS = 3000;

export async function awaitAnswers(
  out: string,
  conversation: Conversation,
  timeoutSeconds: number,
  onProgress: (progress: Progress, seconds: number) => void,
): Promise<Outcome> {
  const started = Date.now();
  let looked = started;
  let progress: Progress = { plan: null, expected: [], answers: [] };
  for (;;) {
    progress = await proceed(progress, out, conversation);
    if (silentRanks(progress).length === 0) return { ...progress, gaveUp: null };
    const now = Date.now();
    if (now - started > timeoutSeconds * 1000)
      return { ...progress, gaveUp: `no answer within ${timeoutSeconds} s (--timeout)` };
    if (now - looked > LOOK_AFTER_RANKS_MS) {
      looked = now;
      if (!mayBeAlive(await readRanks(out), now)) return { ...progress, gaveUp: 'the job has ended' };
    }
    onProgress(progress, (now - started) / 1000);
    await sleep(POLL_MS);
  }
}

/** Ranks that were to record and have not answered. */
export const silentRanks = ({ expected, answers }: Progress) =>
  expected.filter((rank) => !answers.some((answer) => answer.rank === rank));

async function proceed(before: Progress, out: string, conversation: Conversation): Promise<Progress> {
  if (before.plan) return { ...before, answers: await conversation.answers(before.expected) };
  // The first rank can also refuse. Looked for before the plan: an answer that comes right after a look for the plan may
  // be of a plan that we have not seen, and the other ranks would not be waited for.
  const refusal = await conversation.answers([PLANNER]);
  const plan = await conversation.plan();
  if (!plan) return { plan, expected: [PLANNER], answers: refusal };
  const expected = await ranksOf(plan, out);
  return { plan, expected, answers: await conversation.answers(expected) };
}

const PLANNER = 0;

async function ranksOf(plan: Plan, out: string): Promise<readonly number[]> {
  if (plan.ranks !== 'all') return plan.ranks;
  const now = Date.now();
  return (await readRanks(out)).filter((m) => mayBeAlive([m], now)).map((m) => m.rank);
}
