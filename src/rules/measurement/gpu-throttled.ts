import { formatWhole } from '../../base/units.js';
import { limitWords } from '../../diagnosis/words/slow-gpu.js';
import { about } from '../../remedies/remedies.js';
import { evidence } from '../kit/evidence.js';
import {
  BELOW_MAXIMUM,
  BELOW_OTHERS,
  busyGpuOf,
  busyWords,
  HEALTHY,
  HELD,
  throttleOf,
} from '../kit/gpu-states.js';
import { type AnyRule, found } from '../kit/rule.js';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'gpu-throttled',
    alias: 'T2',
    title: 'The GPU’s clock is held down',
    needs: 'nvidia-smi dmon or query',
    looksFor:
      'A busy GPU whose clock is held down by heat or the hardware, is lower than that of the other GPUs of the run, or is far below its own maximum.',
    why: 'Utilization is the share of time in which any kernel runs, however slowly. The clock shows how fast.',
    ...about('unthrottle'),
    thresholds: [HELD, BELOW_OTHERS, BELOW_MAXIMUM],
  },
  check(view, run) {
    const gpu = busyGpuOf(view, run);
    if ('silent' in gpu) return gpu;
    const throttle = throttleOf(gpu, run);
    if (!throttle || gpu.clock === null) return HEALTHY;
    const { held, slow, maximum } = throttle;
    const text = [
      `${busyWords(gpu)} at ${clockWords(gpu.clock, maximum)}${held ? ` (${limitWords(held)})` : ''}`,
      ...(slow ? [`other GPUs ${formatWhole(slow.usualClock)} MHz`] : []),
      ...(gpu.power === null ? [] : [`${formatWhole(gpu.power)} W`]),
      ...(gpu.temperature === null ? [] : [`up to ${formatWhole(gpu.temperature)} °C`]),
    ].join(', ');
    return found({
      id: 'gpu-throttled',
      title: throttle.title,
      confidence: throttle.confidence,
      addresses: 'gpu',
      evidence: [evidence(view, text, Math.round(gpu.clock), 'MHz')],
      price: null,
    });
  },
};

/** A maximum that it never left says nothing. */
const clockWords = (clock: number, maximum: number) =>
  `${formatWhole(clock)} MHz${maximum > 1.01 * clock ? ` of ${formatWhole(maximum)}` : ''}`;
