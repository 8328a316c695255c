import { mean } from '../../base/statistics.js';
import { formatCount } from '../../base/units.js';
import { advise, inOneLine, use } from '../../remedies/remedies.js';
import {
  DELAYED,
  MEMORY_STALL,
  PEGGED,
  type ProcessActivity,
  SWAPS,
  THREADS_PER_CPU,
} from '../../telemetry/processes/process-activity.js';
import { type Activity, COMPILES, GPU_WAITS, QUOTA_USED_UP } from '../../triage/activity/activity.js';
import type { LiveClaim } from '../kit/claim.js';
import { words } from '../kit/words.js';
import { commandOf, measured, withStacks } from './next.js';
import { cores, cpuWords, gpuWords, mainWords, percent, rate, sum } from './words.js';

/** Nothing here trains. */
export function judgeNotTraining({ trainers, recording, gpu }: Activity): LiveClaim | null {
  if (trainers.length > 0) return null;
  const named = recording.machine.pid;
  const busy = gpu !== null && gpu.utilization >= GPU_WAITS;
  return {
    bottleneck: 'unknown',
    cause: 'not-training',
    confidence: 1,
    words: words(
      'Not training',
      named === null
        ? 'no Python process here has loaded torch'
        : `process ${named} and those below it have not loaded torch`,
    ),
    evidence: [
      ...(recording.machine.hidden > 0
        ? [
            `${formatCount(recording.machine.hidden, 'Python process', 'Python processes')} of other users could not be inspected`,
          ]
        : []),
      ...(busy ? ['the GPU is busy anyway: its job may belong to another user or container'] : []),
    ],
    advice: 'Start the job, or name its process. Inspecting other users’ processes needs sudo.',
    next: ['pgrep -af python', 'whyslow triage --pid PID'],
  };
}

/** Memory is short: pages are read back from disk instead of training. */
export function judgeMemory(activity: Activity): LiveClaim | null {
  const { memoryPressure, swapRate, trainers, workers } = activity;
  const swaps = (swapRate ?? 0) >= SWAPS;
  if (!swaps && (memoryPressure ?? 0) < MEMORY_STALL) return null;
  const swapped = sum([...trainers, ...workers].map((p) => p.swapped));
  const evidence = [
    ...(memoryPressure === null ? [] : [`tasks waited for memory ${percent(memoryPressure)} of the time`]),
    ...(swaps ? [`${rate(swapRate!)} read back from swap`] : []),
    ...(swapped > 0 ? [`${rate(swapped).replace('/s', '')} of the job are in swap`] : []),
  ];
  return {
    bottleneck: 'host',
    cause: 'memory',
    confidence: 0.8,
    words: words('Short of memory', 'the job waits for pages that were swapped out or evicted'),
    evidence: [...evidence, gpuWords(activity)],
    advice: advise(use('less-host-memory')).fix.text,
    next: ['free -h', 'ps -eo pid,rss,cmd --sort=-rss | head'],
  };
}

/** More threads than CPUs, which hinder each other (T3). */
export function judgeThreads(activity: Activity): LiveClaim | null {
  const { trainers, workers, cpus, quotaUsedUp, runnable } = activity;
  const crowd = [trainers, workers].find((group) => isCrowd(group, cpus));
  if (crowd === undefined) return null;
  const isDelayed = sum(crowd.map((p) => p.delayed)) >= DELAYED * sum(crowd.map((p) => p.wants));
  if (!isDelayed && (quotaUsedUp ?? 0) < QUOTA_USED_UP) return null;
  const threads = sum(crowd.map((p) => p.activeThreads));
  const inWorkers = crowd === workers;
  const each = Math.max(1, Math.floor(cpus / crowd.length));
  const fewer = use('fewer-threads', { inWorkers, each });
  const set = crowd[0]!.facts.environment.OMP_NUM_THREADS;
  const who = inWorkers
    ? formatCount(workers.length, 'DataLoader worker')
    : formatCount(trainers.length, 'process', 'processes');
  return {
    bottleneck: activity.usesGpu ? 'host' : 'compute',
    cause: 'threads',
    confidence: 0.85,
    words: words('Too many threads', `${threads} threads compete for ${cpuWords(activity)}`),
    evidence: [
      `${threads} active threads in ${who}`,
      `they wait for a CPU ${percent(sum(crowd.map((p) => p.delayed)) / sum(crowd.map((p) => p.wants)))} of the time they could run`,
      ...(quotaUsedUp === null || quotaUsedUp === 0
        ? []
        : [`the quota runs out in ${percent(quotaUsedUp)} of its periods`]),
      ...(runnable === null ? [] : [`${Math.round(runnable)} threads on this machine want to run at a time`]),
      `OMP_NUM_THREADS is ${set === undefined ? 'not set' : set}`,
      ...(activity.usesGpu ? [gpuWords(activity)] : []),
    ],
    advice: advise(fewer).fix.text,
    next: [`${advise(fewer).fix.code.replace('export ', '')} ${commandOf(activity)}`],
  };
}

/** Several active threads in a process, and far more than CPUs in all. One thread each is no crowd, just many processes. */
const isCrowd = (group: readonly ProcessActivity[], cpus: number): boolean =>
  group.length > 0 &&
  mean(group.map((p) => p.activeThreads)) >= 2 &&
  sum(group.map((p) => p.activeThreads)) > THREADS_PER_CPU * cpus;

/** The GPU waits while kernels are compiled. */
export function judgeCompiling(activity: Activity): LiveClaim | null {
  const used = sum(activity.compilers.map((c) => c.cpu));
  if (used < COMPILES || mean(activity.trainers.map((t) => t.mainCpu)) >= PEGGED) return null;
  return {
    bottleneck: 'host',
    cause: 'compile',
    confidence: 0.75,
    words: words('Compiling', `compilers use ${cores(used)} while training waits`),
    evidence: [
      formatCount(activity.compilers.length, 'compiler process', 'compiler processes'),
      mainWords(activity),
      gpuWords(activity),
    ],
    advice: `This is normal in the first minutes. If it goes on, shapes change and torch.compile compiles again. ${inOneLine(use('few-shapes'))}`,
    next: [`TORCH_LOGS=recompiles ${commandOf(activity)}`, measured(activity), withStacks(activity)],
  };
}
