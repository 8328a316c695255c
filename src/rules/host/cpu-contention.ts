import { formatCount, formatPercent, formatWhole, formatWholePercent, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type {
  CapturedCores,
  CapturedCpu,
  CapturedLoader,
  CapturedRank,
  RunFacts,
} from '../../diagnosis/run-facts.js';
import { about, type Use, use } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import type { Evidence } from '../kit/finding.js';
import { priceOfStep } from '../kit/price.js';
import { type AnyRule, found, type Levels, silent, threshold } from '../kit/rule.js';

const THROTTLED = threshold(
  'throttled',
  share(0.1),
  'of the quota’s periods',
  'our judgment: a process that is stopped less often loses little',
);
const QUEUED = threshold(
  'waiting for a core',
  share(0.2),
  'of the time in which threads want to run',
  'measured on 2 busy cores: 0.03 with one thread (60 ms per step), 0.79 with two (525 ms)',
);
const WAITING = threshold(
  'threads waiting for a core',
  0.1,
  'on average',
  'our judgment: if hardly any thread runs, none is held up',
);
const THREAD_QUEUED = threshold(
  'training thread of a GPU job waiting for a core',
  share(0.1),
  'of the time',
  'our judgment: launches come that much later',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'cpu-contention',
    alias: null,
    title: 'The job waits for CPU cores',
    needs: 'manifests of whyslow run, or samples of /proc',
    looksFor:
      'Threads that are ready to run and wait for a core: more threads than cores, other processes on them, or a container that has used up its quota.',
    why: 'An operator finishes only when its slowest thread does. If one thread waits for a core, the others wait for it.',
    ...about('omp-threads'),
    thresholds: [THROTTLED, QUEUED, WAITING, THREAD_QUEUED],
  },
  check(view, run) {
    const own = run.captured.get(view.rank);
    if (!own?.cpu || !own.cores) return silent('CPU time was not recorded');
    const { cpu, cores } = own;
    const usable = Math.max(1, Math.floor(Math.min(cores.allowed, cores.quota ?? cores.allowed)));
    const ranks = ranksSharing(own, cores, run);
    const contention = throttledBy(cpu, cores, usable, ranks) ?? queuedOn(view, own, cpu, usable, ranks);
    if (!contention) return silent('its threads hardly wait for a core');
    const { title, confidence, text, figure, remedy, outside, stretched = 1 } = contention;
    return found({
      id: 'cpu-contention',
      title,
      confidence,
      addresses: addressed(view, cpu, run),
      evidence: [evidence(view, text, figure, '%'), ...sampledEvidence(view, run)],
      price: priceOfWait(view, cpu.threadQueued ?? 0, stretched),
      remedy,
      ...(outside ? { outside } : {}),
    });
  },
};

/** Of the time in which the training thread waits for a core. It may be in operators that overlap with other waits. */
const WON_BACK: Levels = { low: 0, likely: 0.5, high: 1 };

function priceOfWait(view: RankView, queued: number, stretched: number) {
  if (queued < THREAD_QUEUED.value) return null;
  const whole = view.step.unprofiled;
  const best = Math.min(whole * (1 - WON_BACK.high * queued), whole / stretched);
  const likely = whole * (1 - WON_BACK.likely * queued);
  // Between the training thread's own waits and those of all its threads nothing shows where the operators are.
  const middle = stretched > 1 ? Math.min(likely, Math.sqrt(likely * best)) : likely;
  return priceOfStep(view, (level) => ({ low: whole, likely: middle, high: best })[level]);
}

/** What samples of the machine add: who else wants its cores, and how often the training thread has to leave its own. */
function sampledEvidence(view: RankView, run: RunFacts): Evidence[] {
  const sampled = run.evidence.activity.get(view.rank);
  if (!sampled) return [];
  const { runnable, cpuPressure, cpus } = sampled.machine;
  const { switchRate } = sampled.trainer;
  const texts = [
    ...(runnable === null
      ? []
      : [`${runnable.toFixed(1)} threads of the machine want to run at a time, on ${cpus} CPUs`]),
    ...(cpuPressure === null
      ? []
      : [`some task waited for a CPU ${formatWholePercent(share(cpuPressure))} of the time`]),
    ...(switchRate === null
      ? []
      : [`the training thread had to leave its CPU ${formatWhole(switchRate)} times per second`]),
  ];
  return texts.length > 0 ? [evidence(view, `in /proc: ${texts.join('; ')}`)] : [];
}

interface Contention {
  readonly title: string;
  readonly confidence: number;
  readonly text: string;
  /** Percent. */
  readonly figure: number;
  readonly remedy: Use;
  /** How many times as long an operator takes whose threads all wait for cores: it ends when the last of them does. */
  readonly stretched?: number;
  /** Other processes cause it. */
  readonly outside?: true;
}

/** Ranks of the job on the same cores: all of the machine, except those that were pinned to others. */
function ranksSharing({ host, cpu }: CapturedRank, { ranks }: CapturedCores, { captured }: RunFacts): number {
  const here = [...captured.values()].filter((other) => other.host === host && other.cpu);
  // Ranks that were not captured may be anywhere.
  if (here.length < ranks || !cpu?.affinity) return ranks;
  return here.filter((other) => other.cpu?.affinity === cpu.affinity).length;
}

function throttledBy(
  { throttled }: CapturedCpu,
  { quota }: CapturedCores,
  usable: number,
  ranks: number,
): Contention | null {
  if (throttled === null || throttled < THROTTLED.value) return null;
  const limit = quota === null ? 'its quota' : `its quota of ${formatCount(quota, 'core')}`;
  return {
    title: 'the container’s CPU quota stops the job',
    confidence: 0.9,
    text: `the container had used up ${limit} in ${formatWholePercent(share(throttled))} of periods, and was stopped for the rest of each`,
    figure: 100 * throttled,
    remedy: use('omp-threads', { threads: threadsFor(usable, ranks), because: 'quota' }),
  };
}

/** Threads for each rank that the cores have room for. */
const threadsFor = (cores: number, ranks: number) => Math.max(1, Math.floor(cores / ranks));

function queuedOn(
  view: RankView,
  { loader }: CapturedRank,
  { used, queued, threads, threadQueued, threadsBy }: CapturedCpu,
  cores: number,
  ranks: number,
): Contention | null {
  if (queued === null || queued < WAITING.value || queued < QUEUED.value * (used + queued)) return null;
  // The GPU waits only for the thread that launches.
  if (view.facts.hasGpuWork && !((threadQueued ?? 0) >= THREAD_QUEUED.value)) return null;
  // Workers that wait for reads need no core.
  const busy = Math.round((loader?.numWorkers ?? 0) * runs(loader));
  const [all, workers] = [threads * ranks, busy * ranks];
  const onCores = `on ${formatCount(cores, 'core')}`;
  const names = `${formatCount(all, 'thread')}${workers > 0 ? ` and ${formatCount(workers, 'busy loader worker')}` : ''}`;
  const isTooMany = all + workers > cores;
  const fewer = all > cores ? threadsFor(cores, ranks) : 1;
  const waits = formatPercent(share(queued / (used + queued)));
  return {
    title: isTooMany ? `${names} run ${onCores}` : 'other processes take the cores',
    confidence: isTooMany ? 0.85 : 0.5,
    text: `threads that want to run wait for a core ${waits} of the time (${used.toFixed(1)} run, ${queued.toFixed(1)} wait); the job has ${names} ${onCores}`,
    figure: (100 * queued) / (used + queued),
    remedy: use('omp-threads', {
      threads: fewer,
      because: isTooMany ? 'threads' : 'others',
      inCode: threadsBy === 'code',
      onlyMoreCores: threads <= fewer,
    }),
    ...(isTooMany ? {} : { outside: true }),
    ...(all > cores ? { stretched: (used + queued) / Math.max(used, 0.1) } : {}),
  };
}

/** The part of the time in which a worker needs a core. */
const runs = (loader: CapturedLoader | null): number =>
  loader?.workersRan == null ? 1 : loader.workersRan + (loader.workersQueued ?? 0);

/** Threads that wait for a core less than this do not explain a step that is mostly Python: it sleeps, or waits for others. */
const EXPLAINS_HOST = 0.5;

/** Without a GPU it is computing that takes longer, or Python. With one, the GPU waits for launches. */
const addressed = ({ facts }: RankView, { queued }: CapturedCpu, { verdict }: RunFacts) =>
  facts.hasGpuWork || (verdict.bottleneck === 'host' && (queued ?? 1) >= EXPLAINS_HOST) ? 'host' : 'gpu';
