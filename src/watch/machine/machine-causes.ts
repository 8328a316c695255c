import { formatBytes, formatWhole, formatWholePercent, bytes as inBytes, share } from '../../base/units.js';
import type { IncidentCause } from '../../model/incident.js';
import { GPU_USAGE, type GpuUsage } from './gpu-usage.js';
import { delayedThread, delayKey, isThread, type JobUsage, USAGE } from './job-usage.js';
import type { Usage } from './usage-history.js';

/** What a machine shows about a change. */
export interface MachineCause {
  readonly cause: IncidentCause;
  readonly evidence: string;
}

/** What the events say about the change: its time, ms since 1970, and how many times longer a step takes. */
export interface Change {
  readonly onset: number;
  readonly detected: number;
  /** The first step. What the machine did before it, importing for instance, is not usual. */
  readonly begun: number;
  readonly cause: IncidentCause;
  readonly times: number;
}

/** How far back to look for what was usual. */
const BEFORE_MS = 10 * 60_000;
/** Less of a machine's time says nothing. Two samples are a second apart at most. */
const LEAST_SECONDS = 2;

/** Of the slow-down, what a cause must be able to explain. */
const EXPLAINS = 0.4;
/** More waiting for a core than before, as a share of the step, and by this factor. It must also explain the change. */
const LEAST_WAITED = 0.03;
const MORE_WAITED = 1.25;
/** By this factor more CPU time of the job itself: then its own threads may be in each other's way. */
const MORE_OWN = 1.1;
/** More cores that other programs use. Less is what a machine does anyway. */
const LEAST_OTHERS = 0.25;
/** More of the time held back by a quota or by the host of a virtual machine. */
const LEAST_HELD = 0.1;
/** A thread that begins to use this much of a core. */
const LEAST_THREAD = 0.4;
/** Bytes per second from swap: 100 pages of 4 kB. */
const LEAST_SWAPPED = 400_000;
const LEAST_PRESSURE = 0.1;
/** Clocks move by a few percent with temperature alone. */
const LEAST_CLOCK_FALL = 0.03;

/** Causes in the events that a machine may be behind: whatever takes CPU or GPU time. A wait for a store is its own cause. */
const MACHINE_MAY_EXPLAIN: readonly IncidentCause[] = [
  'compute',
  'host',
  'unknown',
  'loader',
  'copies',
  'network',
  'late-rank',
];

/** Of the machines of the ranks that changed: what changed on them at the same time. Null: nothing that explains it. */
export function machineCause(
  jobs: readonly JobUsage[],
  gpus: readonly GpuHost[],
  change: Change,
): MachineCause | null {
  if (!MACHINE_MAY_EXPLAIN.includes(change.cause)) return null;
  for (const host of gpus) {
    const found = clockFell(host, change);
    if (found) return found;
  }
  for (const job of jobs) {
    const [before, since] = usageAround((from, to) => job.history.between(from, to), change);
    const found = before && since && processCause(before, since, change, job.host);
    if (found) return found;
  }
  return null;
}

export interface GpuHost {
  readonly host: string;
  readonly usage: GpuUsage;
}

type Between = (from: number, to: number) => Usage | null;

function usageAround(
  between: Between,
  { onset, detected, begun }: Change,
): readonly [Usage | null, Usage | null] {
  const [before, since] = [between(Math.max(onset - BEFORE_MS, begun), onset), between(onset, detected)];
  const isEnough = (u: Usage | null) => u !== null && u.seconds >= LEAST_SECONDS;
  return [isEnough(before) ? before : null, isEnough(since) ? since : null];
}

function processCause(
  before: Usage,
  since: Usage,
  { times, cause }: Change,
  host: string,
): MachineCause | null {
  const on = host === '' ? '' : ` on ${host}`;
  const grown = (name: string) => since.mean(name) - before.mean(name);
  if (grown(USAGE.swappedIn) > LEAST_SWAPPED || grown(USAGE.memoryPressure) > LEAST_PRESSURE)
    return {
      cause: 'memory',
      evidence: `memory is short${on}: ${formatBytes(inBytes(Math.max(0, since.mean(USAGE.swappedIn))))} per second come back from swap`,
    };
  const thread = newThread(before, since);
  if (thread && cause !== 'network')
    return {
      cause: 'threads',
      evidence: `${thread.name} runs, or wants to, ${formatWholePercent(share(Math.min(1, thread.cores)))} of the time since then${on}; before: ${formatWholePercent(share(thread.before))}`,
    };
  const crowded = crowdedOut(before, since, times, on);
  if (crowded) return { cause: 'neighbor', evidence: crowded };
  // What is held back for a share w of the time takes 1/(1 − w) times as long.
  const [old, now] = [before.mean(USAGE.stolen), since.mean(USAGE.stolen)];
  if (now - old > LEAST_HELD && (1 - old) / Math.max(1e-6, 1 - now) - 1 >= EXPLAINS * (times - 1))
    return {
      cause: 'neighbor',
      evidence: `the host of this virtual machine keeps back ${formatWholePercent(share(now))} of its CPU time${on}; before: ${formatWholePercent(share(old))}`,
    };
  if (grown(USAGE.throttled) > LEAST_HELD)
    return {
      cause: 'neighbor',
      evidence: `the CPU quota of its cgroup holds it back ${formatWholePercent(share(since.mean(USAGE.throttled)))} of the time${on}; before: ${formatWholePercent(share(Math.max(0, before.mean(USAGE.throttled))))}`,
    };
  return null;
}

/**
 * Whether a thread of the job waits for a core so much longer in each step that this explains the change. If the job itself runs
 * more than before, and other programs do not, its threads are in each other's way.
 */
function crowdedOut(before: Usage, since: Usage, times: number, on: string): string | null {
  const waits = since.names
    .flatMap((name) => delayedThread(name) ?? [])
    // In steps of before: a share of a step that now takes so many times longer.
    .map((thread) => ({
      thread,
      now: since.rate(delayKey(thread)),
      old: before.rate(delayKey(thread)),
    }))
    .sort((a, b) => b.now * times - b.old - (a.now * times - a.old));
  const [most] = waits;
  if (!most) return null;
  const { thread, now, old } = most;
  const more = now * times - old;
  if (more < Math.max(LEAST_WAITED, EXPLAINS * (times - 1)) || now * times < MORE_WAITED * old) return null;
  const [others, othersBefore] = [since.mean(USAGE.others), before.mean(USAGE.others)];
  // Unknown: false. Of a large machine, most cores are none of the job's.
  const othersGrew = others - othersBefore >= LEAST_OTHERS;
  if (!othersGrew && since.mean(USAGE.ran) > MORE_OWN * before.mean(USAGE.ran)) return null;
  const cores = (n: number) => n.toFixed(n < 10 ? 1 : 0);
  const use = othersGrew
    ? `. Other programs use ${cores(others)} cores there; before: ${cores(othersBefore)}`
    : '';
  return `${thread} waits for a core ${formatWholePercent(share(now))} of the time${on}; before: ${formatWholePercent(share(old))}${use}`;
}

/** A thread of the job itself that was idle, or not there, and takes a core now. One that only waits for a core longer is not new. */
function newThread(before: Usage, since: Usage) {
  const ran = (usage: Usage, name: string) => usage.rate(name) - usage.rate(delayKey(name));
  const threads = since.names
    .filter(isThread)
    .map((name) => ({ name, cores: since.rate(name), before: before.rate(name) }))
    .filter((t) => t.cores - t.before >= LEAST_THREAD && t.before < LEAST_THREAD / 4)
    .filter(({ name }) => ran(since, name) - ran(before, name) >= LEAST_THREAD / 4)
    .sort((a, b) => b.cores - a.cores);
  // With more of them it is a pool that came into use, such as that of a library.
  return threads.length > 0 && threads.length <= 2 ? threads[0]! : null;
}

function clockFell({ host, usage }: GpuHost, change: Change): MachineCause | null {
  const falls = [...usage.gpus].flatMap(([gpu, history]) => {
    const [before, since] = usageAround(
      (from, to) => history.between(usage.toFile(from), usage.toFile(to)),
      change,
    );
    const [old, now] = [
      before?.mean(GPU_USAGE.clock) ?? Number.NaN,
      since?.mean(GPU_USAGE.clock) ?? Number.NaN,
    ];
    return before &&
      since &&
      now > 0 &&
      now < (1 - LEAST_CLOCK_FALL) * old &&
      old / now - 1 >= EXPLAINS * (change.times - 1)
      ? [{ gpu, old, now, before, since }]
      : [];
  });
  const [worst] = falls.sort((a, b) => a.now / a.old - b.now / b.old);
  if (!worst) return null;
  const { gpu, old, now, before, since } = worst;
  const grew = (name: string) => since.mean(name) - before.mean(name) > 0.05;
  const reason = grew(GPU_USAGE.thermal)
    ? `thermal, ${Math.round(since.mean(GPU_USAGE.temperature))} °C`
    : grew(GPU_USAGE.powerCap)
      ? 'power limit'
      : grew(GPU_USAGE.slowdown)
        ? 'hardware slowdown'
        : 'the log has no reason';
  const also = falls.length > 1 ? `; ${falls.length} GPUs of this host slowed down` : '';
  return {
    cause: 'gpu-clock',
    evidence: `the clock of GPU ${gpu}${host === '' ? '' : ` on ${host}`} fell from ${formatWhole(old)} to ${formatWhole(now)} MHz (${reason})${also}`,
  };
}
