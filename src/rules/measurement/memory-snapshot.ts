import { about } from '../../remedies/remedies.js';
import { countEvidence } from '../kit/evidence.js';
import { hostTime } from '../kit/host.js';
import { found, silent, type TraceRule, threshold } from '../kit/rule.js';

const CALLS = threshold('allocator calls', 1, 'a step', 'a warm allocator makes none');

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  unpriced: 'allowed',
  info: {
    id: 'memory-snapshot',
    alias: 'T22',
    title: 'The question is memory, not time',
    needs: 'trace',
    looksFor:
      'The allocator at work inside steps (cudaMalloc, cudaFree): memory is short, fragmented, or released by hand.',
    why: 'A profiler trace does not show what holds memory. A memory snapshot does, with the stack of every allocation.',
    ...about('memory-snapshot'),
    thresholds: [CALLS],
  },
  check(view) {
    const { count, operators } = hostTime(view, (o) =>
      /^(?:cuda|hip)(?:Malloc|Free)$|^cuMem(?:Create|Release)$/.test(o.name),
    );
    if (count < CALLS.value) return silent('the allocator is quiet');
    const text = `${count.toFixed(0)} calls of ${operators.map((o) => o.name).join(', ')} per step`;
    return found({
      id: 'memory-snapshot',
      title: 'the allocator works inside the steps: look at memory use',
      confidence: 0.7,
      addresses: null,
      evidence: [countEvidence(view, count, 'calls', text)],
      price: null,
    });
  },
};
