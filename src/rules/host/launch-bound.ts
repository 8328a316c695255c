import { about, elsewhere } from '../../remedies/remedies.js';
import { LAUNCHES, priceCompiled, SHORT_KERNEL, waitsForLaunches } from '../kit/compiling.js';
import { IDLE, runsCompiled } from '../kit/host.js';
import { found, silent, type TraceRule } from '../kit/rule.js';

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  // Not what happens between steps.
  lines: /^(?!.*(?:save|load|sleep|print|eval)\b)./,
  unpriced: 'allowed',
  info: {
    id: 'launch-bound',
    alias: 'T15',
    title: 'The GPU waits for launches: many short kernels, queue empty',
    needs: 'trace',
    looksFor:
      'The GPU is idle because the host launches work more slowly than the GPU does it: kernels are short, and most launches find an empty queue.',
    why: 'Each operator costs the host 5–20 µs of Python and dispatch. Kernels shorter than that leave the GPU idle. torch.compile merges elementwise operators: fewer launches are left. Matrix products, norms and reductions stay, so the gain depends on the model.',
    more: `Leave the first steps out of any measurement: they compile. fullgraph=True raises an error at a graph break, instead of losing speed silently. ${elsewhere('compile')}`,
    ...about('compile'),
    thresholds: [IDLE, LAUNCHES, SHORT_KERNEL],
  },
  check(view) {
    const waits = waitsForLaunches(view);
    if ('silent' in waits) return waits;
    if (runsCompiled(view)) return silent('the model is already compiled');
    return found({
      id: 'launch-bound',
      title: 'the host launches many short kernels one by one',
      confidence: 0.9,
      addresses: 'host',
      evidence: [waits.evidence],
      price: priceCompiled(view),
    });
  },
};
