import { formatPercent, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import {
  BELOW_OTHERS as CLOCK_OF_OTHERS,
  FAR_BELOW_MAXIMUM,
  LEAST_LIMITED,
  LEAST_SAMPLES,
} from '../../telemetry/slow-gpu.js';
import { type Silent, silent, threshold } from './rule.js';

export const HELD = threshold('held down', LEAST_LIMITED, 'of busy time', 'healthy GPUs of the zoo: 0');
export const BELOW_OTHERS = threshold(
  'clock, against other GPUs',
  share(CLOCK_OF_OTHERS),
  'of theirs',
  'GPUs of one model under one power limit differ by a few percent',
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
