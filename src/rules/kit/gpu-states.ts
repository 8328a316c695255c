import { largest } from '../../base/statistics.js';
import { formatPercent, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import {
  type ClockLimit,
  clockLimitOf,
  FAR_BELOW_MAXIMUM,
  LEAST_LIMITED,
  LEAST_SAMPLES,
  type SlowGpu,
  slowAgainst,
} from '../../telemetry/slow-gpu.js';
import { type Silent, silent, threshold } from './rule.js';

export const HELD = threshold('held down', LEAST_LIMITED, 'of busy time', 'healthy GPUs of the zoo: 0');
export const BELOW_OTHERS = threshold(
  'clock, against other GPUs',
  share(0.9),
  'of theirs',
  'GPUs of one model under one power limit differ by a few per cent',
);
export const BELOW_MAXIMUM = threshold(
  'clock, against its maximum',
  share(FAR_BELOW_MAXIMUM),
  'of it',
  'the zoo’s H200 at its power limit: 0.91 or more',
);

/** What telemetry says of a rank's GPU, if it was seen at work. */
export function busyGpuOf(view: RankView, run: RunFacts): GpuState | Silent {
  const gpu = run.gpus.get(view.rank);
  if (!gpu) return silent('no telemetry of its GPU');
  return gpu.busySamples < LEAST_SAMPLES ? silent('its GPU was busy in too few samples') : gpu;
}

export const HEALTHY = silent('clock and power fit a busy GPU');

/** Other GPUs of the run that may be compared: of the same model, as far as known. */
export const otherGpus = (gpu: GpuState, run: RunFacts): GpuState[] =>
  [...new Set(run.gpus.values())].filter(
    (g) => g !== gpu && (g.name === null || gpu.name === null || g.name === gpu.name),
  );

export const busyWords = ({ samples, busySamples, utilization }: GpuState): string =>
  utilization === null ? 'it ran' : `busy in ${formatPercent(share(busySamples / samples))} of samples`;

/** Why a GPU runs slower than it could. */
interface Throttle {
  readonly title: string;
  readonly confidence: number;
  readonly held: ClockLimit | null;
  readonly slow: SlowGpu | null;
  /** MHz: the highest clock of this GPU and those like it. */
  readonly maximum: number;
}

/** Null for a GPU at its usual clock. */
export function throttleOf(gpu: GpuState, run: RunFacts): Throttle | null {
  const others = otherGpus(gpu, run);
  const held = clockLimitOf(gpu);
  const slow = slowAgainst(gpu, others, BELOW_OTHERS.value);
  const maximum = largest([gpu, ...others].map((g) => g.maxClock ?? 0));
  const because = (title: string, confidence: number) => ({ title, confidence, held, slow, maximum });
  if (held?.by === 'thermal') return because('heat holds the GPU’s clock down', slow ? 0.95 : 0.85);
  if (held?.by === 'slowdown') return because('the hardware holds the GPU’s clock down', slow ? 0.95 : 0.85);
  if (slow) return because('the GPU runs slower than the others of the run', 0.85);
  // Below its maximum without a reason, or so far that the power limit cannot be the usual one.
  if (gpu.clock === null || !(gpu.clock < BELOW_MAXIMUM.value * maximum)) return null;
  return held
    ? because('the power limit holds the GPU’s clock down', 0.6)
    : because('the GPU runs far below its own clock', 0.7);
}
