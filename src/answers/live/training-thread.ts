import { mean } from '../../base/statistics.js';
import { inOneLine, use } from '../../remedies/remedies.js';
import { isCrowdedOut } from '../../telemetry/processes/job-activity.js';
import { MOSTLY_WAITS, PEGGED, READS } from '../../telemetry/processes/process-activity.js';
import { type Activity, BACKWARD_WORKS, IDLE } from '../../triage/activity/activity.js';
import type { LiveClaim } from '../kit/claim.js';
import { labelOf, unknown, words } from '../kit/words.js';
import { measured, withNsys, withStacks, withTrace } from './next.js';
import {
  cores,
  cpuWords,
  gpuWords,
  mainWords,
  percent,
  readsOf,
  readWords,
  sum,
  workerWords,
} from './words.js';

/** Share of samples with the GPU at pause, below which it is fed steadily, and above which it waits for long. */
const STEADY = 0.2;
const PAUSES = 0.5;

/**
 * The training thread is pegged and the GPU waits: it launches kernels, or it loads data. From outside, only two signs
 * differ. A loop that launches keeps the backward thread busy and the GPU steadily so. A loop that loads does neither.
 */
export function judgePeggedThread(activity: Activity): LiveClaim | null {
  const { trainers, workers, gpu, usesGpu, compilers } = activity;
  const main = mean(trainers.map((t) => t.mainCpu));
  const wants = mean(trainers.map((t) => t.mainWants + t.backwardCpu));
  if (!usesGpu || wants < PEGGED) return null;
  const backward = mean(trainers.map((t) => t.backwardCpu));
  const backwardShare = backward / Math.max(main + backward, 1e-9);
  const reads = sum(trainers.map(readsOf)) >= READS;
  const signs =
    (backwardShare >= BACKWARD_WORKS ? 2 : backwardShare >= BACKWARD_WORKS / 2 ? -1 : -2) +
    (gpu === null ? 0 : gpu.pauses < STEADY ? 1 : gpu.pauses >= PAUSES ? -1 : 0) +
    (workers.length > 0 ? 2 : 0) +
    (compilers.length > 0 ? 1 : 0) -
    (reads ? 1 : 0);
  const evidence = [
    gpuWords(activity),
    mainWords(activity),
    `backward thread: ${percent(backward)} of a core`,
    ...(gpu === null ? [] : [`the GPU pauses in ${percent(gpu.pauses)} of the samples`]),
    ...(workers.length > 0 ? [workerWords(activity)] : ['no DataLoader workers']),
    ...readWords(trainers),
  ];
  if (signs === 0) return undecided(activity, evidence);
  const confidence = Math.min(0.85, 0.5 + 0.1 * Math.abs(signs)) - (gpu === null ? 0.1 : 0);
  return signs > 0 ? launching(activity, evidence, confidence) : loading(activity, evidence, confidence);
}

const launching = (activity: Activity, evidence: readonly string[], confidence: number): LiveClaim => ({
  bottleneck: 'host',
  cause: 'launch',
  confidence,
  words: words(
    labelOf('host'),
    'the training thread is pegged and cannot launch work fast enough for the GPU',
  ),
  evidence,
  advice: `The GPU waits for Python and launches. Larger batches, fused optimizers and fewer .item() calls help; faster kernels do not. ${inOneLine(use('compile-graphs', { fusesOptimizer: false }))}`,
  next: [withTrace(activity), withStacks(activity), withNsys(activity)],
});

const loading = (activity: Activity, evidence: readonly string[], confidence: number): LiveClaim => ({
  bottleneck: 'data',
  cause: 'data-cpu',
  confidence,
  words: words(
    labelOf('data', ' by transforms'),
    'the training thread is pegged, but hardly launches work; it seems to prepare data itself',
  ),
  evidence,
  advice: `${inOneLine(use('loader-workers', { workers: 'N', cores: null, pin: true }))} Other Python work in the loop looks the same from outside; stacks show which it is.`,
  next: [withStacks(activity), measured(activity)],
});

const undecided = (activity: Activity, evidence: readonly string[]): LiveClaim => ({
  bottleneck: 'unknown',
  cause: 'mixed',
  confidence: 0.4,
  words: unknown(
    'the training thread is pegged while the GPU waits; from outside it is not clear whether it loads data or launches kernels',
  ),
  evidence,
  advice: 'Stacks show what it does.',
  next: [withStacks(activity), measured(activity)],
});

/** A job without GPU that computes. */
export function judgeCompute(activity: Activity): LiveClaim | null {
  const { trainers, workers, usesGpu, recording, gpu, cpus } = activity;
  const used = sum(trainers.map((t) => t.cpu));
  if (usesGpu || mean(trainers.map((t) => t.mainWants)) < MOSTLY_WAITS) return null;
  const idleGpu =
    gpu !== null
      ? 'This machine has a GPU that the job has not opened: check torch.cuda.is_available() and .to("cuda"). '
      : '';
  return {
    bottleneck: 'compute',
    cause: 'compute',
    // Without workers it may as well be loading.
    confidence: workers.length > 0 ? 0.7 : 0.55,
    words: words('A CPU job that computes', `it uses ${cores(used)} of ${cpuWords(activity)} and no GPU`),
    evidence: [
      mainWords(activity),
      ...(recording.machine.noGpu === null ? [] : [recording.machine.noGpu]),
      ...readWords(trainers),
    ],
    advice:
      idleGpu +
      (used < 0.5 * cpus && !isCrowdedOut(activity)
        ? 'Most CPUs are idle: check OMP_NUM_THREADS and torch.set_num_threads(). '
        : '') +
      'Loading on the training thread looks the same from outside; stacks show which it is.',
    next: [withStacks(activity), measured(activity)],
  };
}

/** Neither the GPU nor the CPU does anything: input, a lock, another rank, or a hang. */
export function judgeIdle(activity: Activity): LiveClaim | null {
  const { trainers, workers } = activity;
  const used = sum([...trainers, ...workers].map((p) => p.cpu));
  const isIdle = used < IDLE * Math.max(1, trainers.length);
  return {
    bottleneck: 'unknown',
    cause: isIdle ? 'idle' : 'mixed',
    confidence: isIdle ? 0.8 : 0.3,
    words: isIdle
      ? words('Both idle', 'the job uses neither GPU nor CPU', 'It waits for something, or it hangs')
      : words('No clear limit', 'neither the GPU nor any thread is busy all the time'),
    evidence: [
      gpuWords(activity),
      `the job uses ${cores(used)} of ${cpuWords(activity)}`,
      mainWords(activity),
      ...waitWords(activity),
      ...(workers.length > 0 ? [workerWords(activity)] : []),
    ],
    advice: isIdle
      ? 'Stacks show what it waits for: a lock, a collective, a slow store.'
      : 'Measure the job: the time of a step, divided by what it waits for.',
    next: isIdle ? [withStacks(activity), measured(activity)] : [measured(activity), withStacks(activity)],
  };
}

const WAIT_NAMES = {
  disk: 'a disk or network file system',
  network: 'the network',
  sleep: 'a pause of its own',
  poll: 'a message from another process',
  lock: 'a lock or another thread',
} as const;

function waitWords({ trainers }: Activity): string[] {
  const shares = (Object.keys(WAIT_NAMES) as (keyof typeof WAIT_NAMES)[])
    .map((kind) => ({ kind, part: mean(trainers.map((t) => t.waits[kind])) }))
    .sort((a, b) => b.part - a.part);
  const { kind, part } = shares[0]!;
  return part >= MOSTLY_WAITS ? [`the main thread waits for ${WAIT_NAMES[kind]}`] : [];
}
