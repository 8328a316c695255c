import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Ms, type Seconds, seconds } from '../base/units.js';
import { Conversation } from './on-demand.js';
import { readJson } from './small-file.js';

/** What profiler windows cost a run, on the rank that they cost most. */
export interface WindowCost {
  readonly spent: Seconds;
  readonly of: Seconds;
}

interface Step {
  readonly ms: Ms | null;
  readonly profiled_ms: Ms | null;
}

/** A window slows its own steps and one before them, in which the profiler starts. */
const WARM_UP_STEPS = 1;

/** Null: no window was recorded, or it is not known how long the run took. */
export async function windowCost(out: string, step: Step): Promise<WindowCost | null> {
  const folder = join(out, 'ranks');
  const names = await readdir(folder).catch(() => []);
  const costs = await Promise.all(
    names.map(async (name) => costOf(await readJson(join(folder, name)), step)),
  );
  return costs
    .filter((c) => c !== null)
    .reduce<WindowCost | null>((a, b) => (a && a.spent > b.spent ? a : b), null);
}

function costOf(manifest: Record<string, unknown> | null, { ms, profiled_ms }: Step): WindowCost | null {
  const trace = manifest?.trace as { seconds_blocked?: unknown; windows?: unknown } | null | undefined;
  const of = wallSeconds(manifest?.anchors);
  if (!trace || typeof trace.seconds_blocked !== 'number' || of === null) return null;
  const windows = Array.isArray(trace.windows) ? (trace.windows as (WindowRecord | null)[]) : [];
  const recorded = windows.filter(
    (w) => typeof w?.last_step === 'number' && typeof w.first_step === 'number',
  );
  if (recorded.length === 0) return null;
  const slowed = recorded.reduce(
    (n, w) => n + Number(w!.last_step) - Number(w!.first_step) + 1 + WARM_UP_STEPS,
    0,
  );
  // A step more than twice as long holds something else: an evaluation inside the window.
  const longer = ms === null || profiled_ms === null ? 0 : Math.min(ms, Math.max(0, profiled_ms - ms)) / 1000;
  return { spent: seconds(trace.seconds_blocked + slowed * longer), of };
}

interface WindowRecord {
  readonly first_step?: unknown;
  readonly last_step?: unknown;
}

function wallSeconds(anchors: unknown): Seconds | null {
  if (!Array.isArray(anchors) || anchors.length < 2) return null;
  const at = (index: number) => Number((anchors.at(index) as { wall_ns?: unknown } | null)?.wall_ns);
  const span = (at(-1) - at(0)) / 1e9;
  return span > 0 && Number.isFinite(span) ? seconds(span) : null;
}

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
