import { bytes, formatBytes, formatWholePercent, share } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { MEMORY_STALL, SWAPS } from '../../telemetry/processes/process-activity.js';
import { evidence } from '../kit/evidence.js';
import { type AnyRule, found, silent, threshold } from '../kit/rule.js';

const STALLED = threshold(
  'waiting for memory',
  share(MEMORY_STALL),
  'of the time',
  'kernel documentation, PSI: time in which some task stalls; any sustained value is a loss',
);
const SWAPPED_IN = threshold(
  'read back from swap',
  SWAPS,
  'bytes per second',
  'our judgment: a healthy machine reads back nothing while it trains',
);

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'memory-pressure',
    alias: null,
    title: 'The machine is short of memory',
    needs: 'samples of /proc (whyslow run, triage --out)',
    looksFor:
      'Tasks that stall because memory must be freed first (pressure stall information), or pages read back from swap while the job trains.',
    why: 'Memory that was swapped out or evicted is read back from disk, which is a thousand times slower. It can delay any thread at any time.',
    ...about('less-host-memory'),
    thresholds: [STALLED, SWAPPED_IN],
  },
  check(view, run) {
    const sampled = run.evidence.activity.get(view.rank);
    if (!sampled) return silent('no /proc samples');
    const { memoryPressure, swapRate, trainers, workers } = sampled.machine;
    const swaps = (swapRate ?? 0) >= SWAPPED_IN.value;
    const stalls = (memoryPressure ?? 0) >= STALLED.value;
    if (!swaps && !stalls) return silent('there is enough memory');
    const inSwap = [...trainers, ...workers].reduce((sum, p) => sum + p.swapped, 0);
    const text = [
      ...(stalls
        ? [`tasks waited for memory ${formatWholePercent(share(memoryPressure!))} of the time`]
        : []),
      ...(swaps ? [`${formatBytes(bytes(Math.round(swapRate!)))}/s were read back from swap`] : []),
      ...(inSwap > 0 ? [`${formatBytes(bytes(Math.round(inSwap)))} of the job are in swap`] : []),
    ].join(', ');
    return found({
      id: 'memory-pressure',
      title: swaps ? 'the machine swaps while it trains' : 'tasks wait for memory',
      // Pressure is that of the whole machine: other programs may be the ones that stall.
      confidence: swaps && inSwap > 0 ? 0.85 : 0.65,
      addresses: 'host',
      evidence: [evidence(view, text, Math.round(100 * (memoryPressure ?? 0)), '%')],
      price: null,
    });
  },
};
