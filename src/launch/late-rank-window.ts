import { randomBytes } from 'node:crypto';
import { Conversation } from './on-demand.js';

/** When to look for a late rank, in ms after the start. Later, somebody else looks. */
const LOOKS = [60_000, 180_000, 600_000];
/** As many steps as rank 0 records. */
const STEPS = 6;
const MOST_RANKS = 2;
const WAIT_SECONDS = 600;

interface Watch {
  stop(): void;
}

/**
 * By default only rank 0 records a window. Once the events show that another rank is late, that rank records one too: it has
 * the cause. Asks once. Never fails.
 */
export function watchForLateRanks(
  out: string,
  lateRanks: () => Promise<readonly number[]>,
  tell: (ranks: readonly number[]) => void,
  looks: readonly number[] = LOOKS,
): Watch {
  let isDone = false;
  const look = async () => {
    const late = isDone ? [] : (await lateRanks()).filter((rank) => rank !== 0).slice(0, MOST_RANKS);
    if (late.length === 0 || isDone) return;
    isDone = true;
    const id = randomBytes(6).toString('hex');
    await new Conversation(out, { id, steps: STEPS, ranks: late, waitSeconds: WAIT_SECONDS }).ask();
    tell(late);
  };
  const timers = looks.map((ms) => setTimeout(() => void look().catch(() => {}), ms).unref());
  return {
    stop: () => {
      isDone = true;
      timers.forEach(clearTimeout);
    },
  };
}
