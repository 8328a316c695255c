import { holderOf, limitWords } from '../../answers/kit/clock-words.js';
import { formatWhole } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { isHeldDown, type Throttle, throttleOf } from '../../telemetry/busy-gpu.js';
import { evidence } from '../kit/evidence.js';
import {
  BELOW_MAXIMUM,
  BELOW_OTHERS,
  busyGpuOf,
  busyWords,
  HEALTHY,
  HELD,
  otherGpus,
} from '../kit/gpu-states.js';
import { type AnyRule, found } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  unpriced: 'allowed',
  info: {
    id: 'gpu-throttled',
    alias: 'T2',
    title: 'The GPU’s clock is held down',
    needs: 'nvidia-smi dmon or query',
    looksFor:
      'A busy GPU whose clock is held down by heat or the hardware, is lower than that of the run’s other GPUs, or is far below its own maximum.',
    why: 'Utilization is the share of time in which any kernel runs, however slowly. The clock shows how fast.',
    ...about('unthrottle'),
    thresholds: [HELD, BELOW_OTHERS, BELOW_MAXIMUM],
  },
  check(view, run) {
    const gpu = busyGpuOf(view, run);
    if ('silent' in gpu) return gpu;
    const throttle = throttleOf(gpu, otherGpus(gpu, run));
    if (!throttle) return HEALTHY;
    const { limit, slow, clock, maximum } = throttle;
    const text = [
      `${busyWords(gpu)} at ${clockWords(clock, maximum)}${limit ? ` (${limitWords(limit)})` : ''}`,
      ...(slow ? [`other GPUs ${formatWhole(slow.usualClock)} MHz`] : []),
      ...(gpu.power === null ? [] : [`${formatWhole(gpu.power)} W`]),
      ...(gpu.temperature === null ? [] : [`up to ${formatWhole(gpu.temperature)} °C`]),
    ].join(', ');
    return found({
      id: 'gpu-throttled',
      ...reasonOf(throttle),
      addresses: 'gpu',
      evidence: [evidence(view, text, Math.round(clock), 'MHz')],
      price: null,
    });
  },
};

function reasonOf({ limit, slow }: Throttle): { readonly title: string; readonly confidence: number } {
  const held = `${holderOf(limit)} holds the GPU’s clock down`;
  if (isHeldDown(limit)) return { title: held, confidence: slow ? 0.95 : 0.85 };
  if (slow) return { title: 'the GPU runs slower than the others of the run', confidence: 0.85 };
  // Below its maximum without a reason, or so far that the power limit cannot be the usual one.
  return limit
    ? { title: held, confidence: 0.6 }
    : { title: 'the GPU runs far below its own clock', confidence: 0.7 };
}

/** A maximum that it never left says nothing. */
const clockWords = (clock: number, maximum: number) =>
  `${formatWhole(clock)} MHz${maximum > 1.01 * clock ? ` of ${formatWhole(maximum)}` : ''}`;
