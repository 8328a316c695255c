import { groupBy } from '../../base/group-by.js';
import { largest, mean } from '../../base/statistics.js';
import type {
  MachineCounters,
  MachineFacts,
  MachineSample,
  ProcessFacts,
  Recording,
} from '../../model/recording.js';
import { DELAYED, MOSTLY_WAITS, type ProcessActivity, processActivity } from './process-activity.js';
import { type Role, rolesOf } from './roles.js';

/** A job and its machine over a whole recording. Plain data that moves between threads. Null: not known. */
export interface JobActivity {
  readonly machine: MachineFacts;
  readonly seconds: number;
  readonly samples: number;
  readonly trainers: readonly ProcessActivity[];
  readonly workers: readonly ProcessActivity[];
  /** DataLoader workers that were there at one time, and all that were seen. */
  readonly workerCount: number;
  readonly workersSeen: number;
  readonly compilers: readonly ProcessActivity[];
  /** CPUs that the job may use: the smaller of cores and quota. */
  readonly cpus: number;
  /** Shares of time; bytes per second. */
  readonly memoryPressure: number | null;
  readonly ioPressure: number | null;
  readonly cpuPressure: number | null;
  readonly swapRate: number | null;
  readonly receiveRate: number | null;
  readonly quotaUsedUp: number | null;
  /** Threads of the whole machine that want to run at a time, on average. */
  readonly runnable: number | null;
}

/** Null: fewer than two samples, which show nothing. */
export function jobActivity(recording: Recording): JobActivity | null {
  const { machine } = recording;
  const samples = evenlySpread(recording.samples);
  const seconds = samples.length < 2 ? 0 : samples.at(-1)!.seconds - samples[0]!.seconds;
  if (seconds <= 0) return null;
  const roles = rolesOf(recording);
  const byId = new Map(recording.processes.map((p) => [p.pid, p]));
  const bySeries = groupBy(
    samples.flatMap((s) => s.processes.map((p) => ({ at: s.seconds, sample: p }))),
    (entry) => entry.sample.pid,
  );
  const all = recording.processes.flatMap((facts) => {
    const series = bySeries.get(facts.pid) ?? [];
    return series.length < 2
      ? []
      : [processActivity(facts, roles.get(facts.pid)!, series, trainerOf(facts, byId, roles))];
  });
  const withRole = (role: Role) => all.filter((p) => p.role === role);
  const isWorker = ({ pid }: { readonly pid: number }) => roles.get(pid) === 'worker';
  const rate = (name: keyof MachineCounters) => growth(samples, name, seconds);
  const periods = rate('periods');
  return {
    machine,
    seconds,
    samples: samples.length,
    trainers: withRole('trainer'),
    workers: withRole('worker'),
    workerCount: largest(samples.map((s) => s.processes.filter(isWorker).length)),
    workersSeen: new Set(samples.flatMap((s) => s.processes.filter(isWorker).map((p) => p.pid))).size,
    compilers: withRole('compiler'),
    cpus: Math.min(machine.cores, machine.quota ?? machine.cores),
    memoryPressure: rate('memoryPressure'),
    ioPressure: rate('ioPressure'),
    cpuPressure: rate('cpuPressure'),
    swapRate: rate('swappedIn'),
    receiveRate: rate('received'),
    quotaUsedUp: periods ? (rate('throttledPeriods') ?? 0) / periods : null,
    runnable: known(mean(samples.map((s) => s.counters.runnable ?? Number.NaN))),
  };
}

/** Samples that are closer than this part of what is usual over most of the time. */
const CLOSE = 1 / 4;

/** Of a long job, the last minutes are recorded in detail: they must not count for more than the rest. */
function evenlySpread(samples: readonly MachineSample[]): readonly MachineSample[] {
  const gaps = samples.slice(1).map((s, i) => s.seconds - samples[i]!.seconds);
  const half = gaps.reduce((sum, gap) => sum + gap, 0) / 2;
  let [usual, passed] = [0, 0];
  for (const gap of gaps.sort((a, b) => a - b)) {
    if (passed < half) usual = gap;
    passed += gap;
  }
  let next = Number.NEGATIVE_INFINITY;
  return samples.filter(({ seconds }, i) => {
    if (seconds < next && i < samples.length - 1) return false;
    next = seconds + CLOSE * usual;
    return true;
  });
}

/** The job waits for CPUs although it has few threads: other programs use them. */
export function isCrowdedOut({ trainers, workers }: Pick<JobActivity, 'trainers' | 'workers'>): boolean {
  const sum = (of: (p: ProcessActivity) => number) =>
    [...trainers, ...workers].reduce((total, p) => total + of(p), 0);
  return sum((p) => p.delayed) >= DELAYED * sum((p) => p.wants) && sum((p) => p.wants) >= MOSTLY_WAITS;
}

/** The nearest process above that trains: a fork server may be in between. */
function trainerOf(
  { pid, parent }: ProcessFacts,
  byId: ReadonlyMap<number, ProcessFacts>,
  roles: ReadonlyMap<number, Role>,
): number | null {
  const seen = new Set([pid]);
  for (let up = byId.get(parent); up && !seen.has(up.pid) && seen.size < FAR; up = byId.get(up.parent)) {
    if (roles.get(up.pid) === 'trainer') return up.pid;
    seen.add(up.pid);
  }
  return null;
}

/** Nobody starts that many processes one inside the other. */
const FAR = 64;

function growth(
  samples: readonly MachineSample[],
  name: keyof MachineCounters,
  seconds: number,
): number | null {
  const first = samples[0]!.counters[name] ?? null;
  const last = samples.at(-1)!.counters[name] ?? null;
  return first === null || last === null ? null : Math.max(0, last - first) / seconds;
}

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** What the DataLoader workers of a rank did, on average. Shares of time; bytes per second of all of them together. */
export interface WorkerUse {
  readonly workers: number;
  readonly ran: number;
  /** Ready to run, and waited for a CPU. */
  readonly queued: number;
  /** By samples: asleep in a read from a disk or network file system (state D), in a socket, in a pause of its own. */
  readonly disk: number;
  readonly network: number;
  readonly pause: number;
  /** By samples: asleep until somebody asks for a batch, or in a lock. */
  readonly asks: number;
  readonly reads: number;
  readonly fromDisk: number;
}

/** Null without workers. `count`: how many there were at a time; over a long job there may have been many more. */
export function workerUse(workers: readonly ProcessActivity[], count: number): WorkerUse | null {
  if (workers.length === 0) return null;
  const average = (of: (w: ProcessActivity) => number) => mean(workers.map(of));
  const rate = (of: (w: ProcessActivity) => number) => count * average(of);
  return {
    workers: count,
    ran: Math.min(
      1,
      average((w) => w.mainCpu),
    ),
    queued: Math.min(
      1,
      average((w) => w.mainWants - w.mainCpu),
    ),
    disk: average((w) => w.waits.disk),
    network: average((w) => w.waits.network),
    pause: average((w) => w.waits.sleep),
    asks: average((w) => w.waits.poll + w.waits.lock),
    reads: rate((w) => Math.max(w.readRate ?? 0, w.diskRate ?? 0)),
    fromDisk: rate((w) => w.diskRate ?? 0),
  };
}
