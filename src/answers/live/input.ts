import { largest, mean } from '../../base/statistics.js';
import { formatCount } from '../../base/units.js';
import { inOneLine, use } from '../../remedies/remedies.js';
import {
  MOSTLY_WAITS,
  PEGGED,
  type ProcessActivity,
  READS,
  WAITS_FOR_IO,
} from '../../telemetry/processes/process-activity.js';
import { type Activity, GPU_WAITS } from '../../triage/activity/activity.js';
import type { LiveClaim } from '../kit/claim.js';
import { labelOf, words } from '../kit/words.js';
import { measured, withStacks } from './next.js';
import {
  cpuWords,
  gpuWords,
  mainWords,
  percent,
  rate,
  readsOf,
  readWords,
  sum,
  workerWords,
} from './words.js';

/** DataLoader workers that cannot keep up: for want of CPU, or of data (T8). */
export function judgeWorkers(activity: Activity): LiveClaim | null {
  const { workers, trainers, workerCount, workersSeen } = activity;
  // A training thread that never waits, but for its own backward pass, is not held up by its input.
  if (mean(trainers.map((t) => t.mainWants + t.backwardCpu)) >= PEGGED) return null;
  if (workersSeen >= RESTARTS * workerCount && workersSeen - workerCount >= 2) return restarted(activity);
  if (workers.length === 0) return null;
  const wants = workers.map((w) => Math.min(1, w.wants));
  const pegged = wants.filter((w) => w >= PEGGED).length;
  if (2 * pegged >= workers.length) return byTransforms(activity, pegged, certainty(activity, 0.9));
  const io = mean(workers.map(ioShare));
  const asks = mean(workers.map((w) => w.waits.poll + w.waits.lock));
  const reads = sum(workers.map(readsOf)) >= READS;
  if (io >= WAITS_FOR_IO && io > asks) return byReading(activity, workers, certainty(activity, 0.85));
  if (mean(wants) >= MOSTLY_WAITS) return byTransforms(activity, pegged, certainty(activity, 0.65));
  if (reads && io >= WAITS_FOR_IO) return byReading(activity, workers, certainty(activity, 0.7));
  // One slow worker holds up all: batches come in order.
  return largest(wants) >= PEGGED ? byTransforms(activity, pegged, certainty(activity, 0.55)) : null;
}

/** A job without workers whose training thread waits for data. */
export function judgeReadingInMain(activity: Activity): LiveClaim | null {
  const { workers, trainers, receiveRate } = activity;
  if (workers.length > 0 || mean(trainers.map((t) => t.mainWants)) >= MOSTLY_WAITS) return null;
  const disk = mean(trainers.map((t) => t.waits.disk));
  const reads = sum(trainers.map(readsOf)) >= READS;
  const fromNetwork =
    trainers.length === 1 &&
    (receiveRate ?? 0) >= READS &&
    trainers[0]!.waits.network + trainers[0]!.waits.poll >= MOSTLY_WAITS;
  if (disk >= WAITS_FOR_IO) return byReading(activity, trainers, certainty(activity, 0.85));
  if (reads) return byReading(activity, trainers, certainty(activity, 0.75));
  return fromNetwork ? byReading(activity, trainers, certainty(activity, 0.6)) : null;
}

/** Waits for bytes: a disk, a network file system, a socket, a pause between requests. */
const ioShare = ({ waits }: ProcessActivity) => waits.disk + waits.network + waits.sleep;

/** Less sure where the GPU was not measured, or was busy for the larger part. */
function certainty({ gpu, usesGpu }: Activity, most: number): number {
  const isSeen = !usesGpu || (gpu !== null && gpu.utilization < GPU_WAITS);
  return isSeen ? most : Math.max(0.5, most - 0.25);
}

/** Workers seen, for each that was there at one time, from which they are started anew (T5). */
const RESTARTS = 1.9;

function restarted(activity: Activity): LiveClaim {
  const { workerCount, workersSeen, seconds } = activity;
  return {
    bottleneck: 'data',
    cause: 'workers-restarted',
    confidence: certainty(activity, 0.8),
    words: words(
      labelOf('data'),
      `DataLoader workers are restarted repeatedly, ${workersSeen} in ${seconds.toFixed(0)} s for ${workerCount} at a time`,
    ),
    evidence: [gpuOrMain(activity), mainWords(activity)],
    advice: `Each epoch forks its workers again and waits for the first batch (T5). ${inOneLine(use('loader-persistent'))}`,
    next: [measured(activity)],
  };
}

function byTransforms(activity: Activity, pegged: number, confidence: number): LiveClaim {
  const { workers, cpus } = activity;
  const useful = Math.floor(cpus) - 1;
  const isFull = workers.length >= useful;
  return {
    bottleneck: 'data',
    cause: 'data-cpu',
    confidence,
    words: words(
      labelOf('data', ' by transforms'),
      `${pegged} of ${formatCount(workers.length, 'DataLoader worker')} ${pegged === 1 ? 'is' : 'are'} pegged while training waits`,
    ),
    evidence: [gpuOrMain(activity), workerWords(activity), mainWords(activity), cpuWords(activity)],
    advice: isFull
      ? 'There is no CPU for more workers. Do the heavy transforms on the GPU (torchvision.transforms.v2, kornia, DALI), or once, ahead of training.'
      : `Each worker is one core. Use more, up to ${useful}; then do the heavy transforms on the GPU, or once, ahead of training.`,
    next: [measured(activity), withStacks(activity)],
  };
}

function byReading(activity: Activity, readers: readonly ProcessActivity[], confidence: number): LiveClaim {
  const inMain = activity.workers.length === 0;
  const received = activity.receiveRate ?? 0;
  return {
    bottleneck: 'data',
    cause: 'data-io',
    confidence,
    words: words(
      labelOf('data', ' by reading'),
      inMain
        ? 'the training thread loads the data itself and mostly waits for it'
        : `${formatCount(readers.length, 'DataLoader worker')} mostly ${readers.length === 1 ? 'waits' : 'wait'} for data`,
    ),
    evidence: [
      gpuOrMain(activity),
      inMain ? mainWords(activity) : workerWords(activity),
      ...waitWords(readers, inMain ? 'it waits' : 'they wait'),
      ...readWords(readers),
      ...((activity.ioPressure ?? 0) >= LEAST_NAMED
        ? [`tasks on this machine waited for disks ${percent(activity.ioPressure!)} of the time`]
        : []),
      ...(received >= READS ? [`${rate(received)} come from the network`] : []),
    ],
    advice:
      (inMain
        ? `No DataLoader workers were seen. ${inOneLine(use('loader-workers', { workers: 4, cores: null, datasetKnown: true }))} `
        : '') + inOneLine(use('staged-data', { orWorkers: !inMain })),
    next: ['whyslow doctor --data DATA_DIRECTORY', measured(activity)],
  };
}

function waitWords(readers: readonly ProcessActivity[], who: string): string[] {
  const kinds = {
    disk: 'for a disk or network file system',
    network: 'for the network',
    sleep: 'in pauses',
  } as const;
  const parts = (['disk', 'network', 'sleep'] as const).flatMap((kind) => {
    const part = mean(readers.map((r) => r.waits[kind]));
    return part >= LEAST_NAMED ? [`${percent(part)} of the time ${kinds[kind]}`] : [];
  });
  return parts.length > 0 ? [`${who} ${parts.join(', ')}`] : [];
}
const LEAST_NAMED = 0.05;

const gpuOrMain = (activity: Activity) => (activity.usesGpu ? gpuWords(activity) : 'the job uses no GPU');
