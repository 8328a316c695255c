import { largest } from '../../base/statistics.js';
import { formatWhole } from '../../base/units.js';
import { advise, use } from '../../remedies/remedies.js';
import { GPU_BUSY, isStarved, powerLimitOf, type Throttle, throttleOf } from '../../telemetry/busy-gpu.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { type Activity, GPU_WAITS } from '../../triage/activity/activity.js';
import type { LiveClaim } from '../kit/claim.js';
import { heldClock, holderOf } from '../kit/clock-words.js';
import { hedged, labelOf, words } from '../kit/words.js';
import { measured, withTrace } from './next.js';
import { gpuWords, mainWords, percent } from './words.js';

/** A GPU that is busy all the time: at its clock, throttled, or busy without doing much (T2). */
export function judgeBusyGpu(activity: Activity): LiveClaim | null {
  const { gpu, usesGpu } = activity;
  if (gpu === null || !usesGpu || gpu.utilization < GPU_BUSY) return null;
  const throttled = gpu.states.find((s) => throttleOf(s) !== null);
  if (throttled) return throttledClaim(activity, throttled, throttleOf(throttled)!);
  const starved = gpu.states.find(isStarved);
  if (starved) return starvedClaim(activity, starved);
  const ranks = activity.trainers.length;
  // Another job may be the one that keeps it busy.
  const isOther = !gpu.areKnown && gpu.states.length > 1;
  return {
    bottleneck: 'gpu',
    cause: 'gpu-bound',
    confidence: isOther ? 0.6 : ranks > 1 ? 0.75 : 0.9,
    words: words(
      labelOf('gpu'),
      `the GPU is busy ${formatWhole(gpu.utilization)}% of the time, with clock and power to match`,
    ),
    evidence: [gpuWords(activity), mainWords(activity)],
    advice:
      'Input and host keep up. What remains is the kernels: 16 bit, TF32, fused attention, torch.compile, a larger batch.' +
      (ranks > 1 ? ' A waiting collective counts as busy too: a trace shows the difference.' : ''),
    next: [withTrace(activity)],
  };
}

/** A GPU that is busy for the larger part, if nothing else was found to hold it up. */
export function judgeMostlyBusyGpu(activity: Activity): LiveClaim | null {
  const { gpu, usesGpu } = activity;
  if (gpu === null || !usesGpu || gpu.utilization < GPU_WAITS) return null;
  return {
    bottleneck: 'gpu',
    cause: 'gpu-bound',
    confidence: 0.5,
    words: words(
      hedged('Mostly', 'gpu'),
      `the GPU is busy ${formatWhole(gpu.utilization)}% of the time, and nothing else is the clear limit`,
    ),
    evidence: [gpuWords(activity), mainWords(activity)],
    advice: 'Measure the job to see what the GPU waits for the rest of the time.',
    next: [measured(activity)],
  };
}

function throttledClaim(activity: Activity, gpu: GpuState, throttle: Throttle): LiveClaim {
  const { limit } = throttle;
  const hot = gpu.temperature === null ? '' : `, up to ${formatWhole(gpu.temperature)} °C`;
  return {
    bottleneck: 'gpu',
    cause: 'throttle',
    confidence: limit === null ? 0.7 : 0.85,
    words: words(labelOf('gpu', ' and throttled'), heldClock(throttle, 'the clock')),
    evidence: [
      gpuWords(activity) + hot,
      ...(limit === null ? [] : [`held down by ${holderOf(limit)} in ${percent(limit.share)} of busy time`]),
    ],
    advice: `Utilization does not show it: the kernels run, but slowly. ${advise(use('unthrottle')).fix.text}`,
    next: ['nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE', 'whyslow doctor'],
  };
}

function starvedClaim(activity: Activity, gpu: GpuState): LiveClaim {
  const power = `${formatWhole(gpu.power!)} of ${formatWhole(powerLimitOf(gpu)!)} W`;
  const several = activity.trainers.length > 1;
  return {
    bottleneck: 'unknown',
    cause: 'starved',
    confidence: 0.6,
    words: words(
      `“${formatWhole(largest([gpu.utilization!, 0]))}% busy” misleads`,
      `the GPU draws only ${power}, so it does little`,
    ),
    evidence: [gpuWords(activity), mainWords(activity)],
    advice: several
      ? 'A collective that waits for another rank counts as busy, and so does a trickle of small kernels. Look where the ranks are, or record a trace.'
      : 'Utilization counts the time in which any kernel runs, however small. A trace shows whether the kernels are small or slow.',
    next: [withTrace(activity)],
  };
}
