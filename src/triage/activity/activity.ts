import { groupBy } from '../../base/group-by.js';
import { largest, mean } from '../../base/statistics.js';
import type {
  MachineCounters,
  MachineSample,
  ProcessFacts,
  ProcessSample,
  Recording,
} from '../../machine/recording.js';
import { type GpuActivity, gpuActivity } from './gpu-activity.js';
import { type Role, rolesOf } from './roles.js';
import { ACTIVE, DELAYED, MOSTLY_WAITS } from './thresholds.js';
import { type WaitKind, waitKind } from './waits.js';

/** One process over the whole watch. Shares of one core, or of the samples; rates in bytes a second. Null: not known. */
export interface ProcessActivity {
  readonly facts: ProcessFacts;
  readonly role: Role;
  /** Cores that all of its threads used. */
  readonly cpu: number;
  /** The thread that trains, most often the main thread: time on a CPU, and together with time that it waited for one. */
  readonly mainCpu: number;
  readonly mainWants: number;
  /** Threads of torch's backward pass on a GPU. */
  readonly backwardCpu: number;
  /** Threads that run, or want to, for a good part of the time. */
  readonly activeThreads: number;
  /** Time on a CPU plus time waiting for one, of all threads, in cores; and the waiting alone. */
  readonly wants: number;
  readonly delayed: number;
  /** Share of samples in which the main thread waited in this way. */
  readonly waits: Readonly<Record<WaitKind, number>>;
  readonly readRate: number | null;
  readonly diskRate: number | null;
  readonly majorFaultRate: number;
  readonly swapped: number;
}

/** A machine and a job over the whole watch. */
export interface Activity {
  readonly recording: Recording;
  readonly seconds: number;
  readonly trainers: readonly ProcessActivity[];
  readonly workers: readonly ProcessActivity[];
  /** DataLoader workers that were there at one time. More in all: they are started again and again. */
  readonly workerCount: number;
  readonly compilers: readonly ProcessActivity[];
  readonly gpu: GpuActivity | null;
  /** A training process has opened a GPU. */
  readonly usesGpu: boolean;
  /** CPUs that the job may use: the smaller of cores and quota. */
  readonly cpus: number;
  /** Shares of time; bytes a second. */
  readonly memoryPressure: number | null;
  readonly ioPressure: number | null;
  readonly swapRate: number | null;
  readonly receiveRate: number | null;
  readonly quotaUsedUp: number | null;
  readonly runnable: number | null;
}

/** Null: fewer than two samples, of which nothing can be said. */
export function activityOf(recording: Recording): Activity | null {
  const { samples, machine } = recording;
  const seconds = samples.length < 2 ? 0 : samples.at(-1)!.seconds - samples[0]!.seconds;
  if (seconds <= 0) return null;
  const roles = rolesOf(recording);
  const bySeries = groupBy(
    samples.flatMap((s) => s.processes.map((p) => ({ at: s.seconds, sample: p }))),
    (entry) => entry.sample.pid,
  );
  const all = recording.processes.flatMap((facts) => {
    const series = bySeries.get(facts.pid) ?? [];
    return series.length < 2 ? [] : [processActivity(facts, roles.get(facts.pid)!, series)];
  });
  const withRole = (role: Role) => all.filter((p) => p.role === role);
  const trainers = withRole('trainer');
  const rate = (name: keyof MachineCounters) => growth(samples, name, seconds);
  const periods = rate('periods');
  return {
    recording,
    seconds,
    trainers,
    workers: withRole('worker'),
    workerCount: largest(samples.map((s) => s.processes.filter((p) => roles.get(p.pid) === 'worker').length)),
    compilers: withRole('compiler'),
    gpu: gpuActivity(recording),
    usesGpu:
      machine.gpus !== null ||
      trainers.some(({ facts }) => facts.gpu || (facts.gpu === null && machine.noGpu === null)),
    cpus: Math.min(machine.cores, machine.quota ?? machine.cores),
    memoryPressure: rate('memoryPressure'),
    ioPressure: rate('ioPressure'),
    swapRate: rate('swappedIn'),
    receiveRate: rate('received'),
    quotaUsedUp: periods ? (rate('throttledPeriods') ?? 0) / periods : null,
    runnable: known(mean(samples.map((s) => s.counters.runnable ?? Number.NaN))),
  };
}

/** The job waits for CPUs although it has few threads: other programs use them. */
export function isCrowdedOut({ trainers, workers }: Activity): boolean {
  const sum = (of: (p: ProcessActivity) => number) =>
    [...trainers, ...workers].reduce((total, p) => total + of(p), 0);
  return sum((p) => p.delayed) >= DELAYED * sum((p) => p.wants) && sum((p) => p.wants) >= MOSTLY_WAITS;
}

interface Entry {
  readonly at: number;
  readonly sample: ProcessSample;
}

/** Rates are over the time in which it was there. */
function processActivity(facts: ProcessFacts, role: Role, series: readonly Entry[]): ProcessActivity {
  const seconds = Math.max(series.at(-1)!.at - series[0]!.at, 1e-3);
  const threads = threadUse(series, seconds);
  const each = [...threads.values()];
  const main = trainingThread(threads.get(facts.pid), each);
  const sum = (of: (t: ThreadUse) => number, among = each) => among.reduce((total, t) => total + of(t), 0);
  const first = series[0]!.sample;
  const last = series.at(-1)!.sample;
  const rate = (from: number | null, to: number | null) =>
    from === null || to === null ? null : Math.max(0, to - from) / seconds;
  return {
    facts,
    role,
    cpu: sum((t) => t.cpu),
    mainCpu: main.cpu,
    mainWants: Math.min(1, main.cpu + main.delayed),
    backwardCpu: sum(
      (t) => t.cpu,
      each.filter((t) => t.name.startsWith('pt_autograd')),
    ),
    activeThreads: each.filter((t) => t.cpu + t.delayed >= ACTIVE).length,
    wants: sum((t) => t.cpu + t.delayed),
    delayed: sum((t) => t.delayed),
    waits: waitShares(series.map(({ sample }) => waitKind(sample.threads[0]?.state ?? '', sample.waitsIn))),
    readRate: rate(first.readChars, last.readChars),
    diskRate: rate(first.readBytes, last.readBytes),
    majorFaultRate: rate(first.majorFaults, last.majorFaults)!,
    swapped: last.swappedBytes ?? 0,
  };
}

/** The main thread, unless another one does most of the work: Ray, for one, trains in a thread of its own. */
function trainingThread(main: ThreadUse | undefined, each: readonly ThreadUse[]): ThreadUse {
  const wants = (t: ThreadUse) => t.cpu + t.delayed;
  const busiest = each.filter((t) => !t.name.startsWith('pt_')).sort((a, b) => wants(b) - wants(a))[0];
  const none = { name: '', cpu: 0, delayed: 0 };
  if (main && (!busiest || wants(main) >= OTHER_THREAD * wants(busiest))) return main;
  return busiest ?? main ?? none;
}
const OTHER_THREAD = 0.2;

interface ThreadUse {
  readonly name: string;
  /** Cores. */
  readonly cpu: number;
  readonly delayed: number;
}

/** What each thread used between the first and last sample that show it. A short life counts for as long as it was. */
function threadUse(series: readonly Entry[], seconds: number): ReadonlyMap<number, ThreadUse> {
  const byId = groupBy(
    series.flatMap(({ sample }) => sample.threads),
    (thread) => thread.id,
  );
  return new Map(
    [...byId].map(([id, samples]) => {
      const first = samples[0]!;
      const last = samples.at(-1)!;
      return [
        id,
        {
          name: last.name,
          cpu: Math.max(0, last.cpu - first.cpu) / seconds,
          delayed: Math.max(0, (last.delayed ?? 0) - (first.delayed ?? 0)) / seconds,
        },
      ];
    }),
  );
}

function waitShares(kinds: readonly WaitKind[]): Readonly<Record<WaitKind, number>> {
  const share = (kind: WaitKind) => kinds.filter((k) => k === kind).length / kinds.length;
  return {
    runs: share('runs'),
    disk: share('disk'),
    network: share('network'),
    sleep: share('sleep'),
    poll: share('poll'),
    lock: share('lock'),
    other: share('other'),
  };
}

function growth(
  samples: readonly MachineSample[],
  name: keyof MachineCounters,
  seconds: number,
): number | null {
  const first = samples[0]!.counters[name];
  const last = samples.at(-1)!.counters[name];
  return first === null || last === null ? null : Math.max(0, last - first) / seconds;
}

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);
