import { largest } from '../../base/statistics.js';
import { formatWhole, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import { about } from '../../remedies/remedies.js';
import { boardPower, isHeldDown, throttleOf } from '../../telemetry/busy-gpu.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import { clockLimitOf, STARVED as STARVED_POWER } from '../../telemetry/slow-gpu.js';
import { evidence } from '../kit/evidence.js';
import { busyGpuOf, busyWords, HEALTHY, otherGpus } from '../kit/gpu-states.js';
import { type AnyRule, found, threshold } from '../kit/rule.js';

const STARVED = threshold(
  'power, while busy',
  share(STARVED_POWER),
  'of the limit',
  'the zoo’s loops that are always busy: 0.6 or more',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  servesToo: true,
  unpriced: 'allowed',
  info: {
    id: 'busy-but-starved',
    alias: 'T2',
    title: 'GPU utilization is 100% but power is low: the GPU is starved',
    needs: 'nvidia-smi dmon or query',
    looksFor: 'A GPU that is always busy and draws little power, at its usual clock.',
    why: 'Utilization is the share of time in which any kernel runs, however small. Power shows how much work it does.',
    ...about('step-breakdown'),
    thresholds: [STARVED],
  },
  check(view, run) {
    const gpu = busyGpuOf(view, run);
    if ('silent' in gpu) return gpu;
    const limit = powerLimitOf(view, gpu, run);
    const starved = gpu.power !== null && gpu.utilization !== null && gpu.power < STARVED.value * limit;
    // A throttled GPU draws less power for that reason.
    const isThrottled = throttleOf(gpu, otherGpus(gpu, run)) !== null || isHeldDown(clockLimitOf(gpu));
    if (!starved || isThrottled) return HEALTHY;
    const text = `${busyWords(gpu)}, but ${formatWhole(gpu.power!)} W of ${formatWhole(limit)}`;
    return found({
      id: 'busy-but-starved',
      title: 'the GPU is busy but does little: utilization misleads',
      confidence: 0.6,
      addresses: null,
      evidence: [evidence(view, text, Math.round(gpu.power!), 'W')],
      price: null,
    });
  },
};

function powerLimitOf(view: RankView, gpu: GpuState, run: RunFacts): number {
  const device = view.source === 'trace' ? view.facts.device : null;
  return (
    gpu.powerLimit ??
    boardPower(gpu.name ?? device?.name ?? '', device?.totalMemory ?? null) ??
    largest([gpu, ...otherGpus(gpu, run)].map((g) => g.maxPower ?? 0))
  );
}
