import { largest } from '../../base/statistics.js';
import type { Share } from '../../base/units.js';
import { share } from '../../base/units.js';
import type { BackgroundLine } from '../../model/manifest.js';
import type { CapturedRank } from './rank-activity.js';

/** A Python thread of the job that runs next to the training thread. Only one of them can hold the interpreter lock. */
export interface BackgroundThread {
  readonly line: BackgroundLine;
  /** Of a core. */
  readonly ran: Share;
  /** The training thread: share of time in which it runs. */
  readonly trainerRan: Share;
  /** Share of time in which the training thread neither runs nor waits for a core. */
  readonly trainerWaits: Share;
}

/** A thread that runs less hardly takes the lock from anybody. */
const LEAST_RAN = 0.1;
/** It is at the same lines in this part of the samples: it does not come and go. */
const STAYS = 0.3;
/** With fewer samples that is a guess. */
const ENOUGH = 20;

/** The thread that competes with the training thread for the interpreter lock. Null: none is seen. */
export function competingThread(captured: CapturedRank | undefined): BackgroundThread | null {
  const { cpu, stacks } = captured ?? {};
  const [line] = stacks?.background ?? [];
  if (!cpu || !stacks || !line || cpu.threadRan === null || stacks.samples < ENOUGH) return null;
  // Threads that have ended are not listed; without threads for operators, all other time of the process is theirs.
  const others = cpu.threads === 1 ? Math.max(0, cpu.used - cpu.threadRan) : 0;
  const ran = Math.max(others, largest([0, ...cpu.background.map((thread) => thread.ran)]));
  if (ran < LEAST_RAN || line.samples < STAYS * stacks.samples) return null;
  return {
    line,
    ran: share(ran),
    trainerRan: share(cpu.threadRan),
    trainerWaits: share(Math.max(0, 1 - cpu.threadRan - (cpu.threadQueued ?? 0))),
  };
}
