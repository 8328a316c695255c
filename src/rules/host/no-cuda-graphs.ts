import { about, elsewhere, use } from '../../remedies/remedies.js';
import { LAUNCHES, priceWithGraphs, SHORT_KERNEL, waitsForLaunches } from '../kit/compiling.js';
import { IDLE, runsCompiled } from '../kit/host.js';
import { isUnfusedOptimizer, optimizerOf } from '../kit/optimizer.js';
import { found, silent, type TraceRule } from '../kit/rule.js';
import { hasFixedShapes, SHAPES } from '../kit/waits.js';

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  unpriced: 'allowed',
  furtherThan: 'launch-bound',
  info: {
    id: 'no-cuda-graphs',
    alias: 'T15',
    title: 'Every kernel is launched separately: no CUDA graphs',
    needs: 'trace',
    looksFor:
      'The same as launch-bound, in models that are compiled or could be, with shapes that do not depend on values.',
    why: 'A CUDA graph starts a whole pass with one call, after which the host hardly matters. torch.compile records the graphs. Shapes must not change, and memory for a graph stays allocated.',
    more: `Modes of torch.compile: the default is balanced, reduce-overhead adds CUDA graphs, max-autotune compiles longest for the fastest steps. ${elsewhere('compile-graphs')}`,
    ...about('compile-graphs'),
    thresholds: [IDLE, LAUNCHES, SHORT_KERNEL, SHAPES],
  },
  check(view) {
    const waits = waitsForLaunches(view);
    if ('silent' in waits) return waits;
    if (!hasFixedShapes(view)) return silent('shapes depend on values: a graph cannot be recorded');
    const compiled = runsCompiled(view);
    const fusesOptimizer = isUnfusedOptimizer(optimizerOf(view));
    return found({
      id: 'no-cuda-graphs',
      title: compiled
        ? 'compiled, but every kernel is still launched by itself'
        : 'every kernel is launched by itself, without CUDA graphs',
      confidence: 0.85,
      addresses: 'host',
      evidence: [waits.evidence],
      price: priceWithGraphs(view),
      inShort: `CUDA graphs${fusesOptimizer ? ' and a fused optimizer' : ''}`,
      remedy: use('compile-graphs', { compiled, fusesOptimizer }),
    });
  },
};
