import { formatCount } from '../../base/units.js';
import type { GraphBreak } from '../../diagnosis/run-evidence.js';
import { about } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
import { found, type RunRule, silent } from '../kit/rule.js';

const MAX_SHOWN = 5;

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  info: {
    id: 'graph-breaks',
    alias: null,
    title: 'Graph breaks cut the compiled model into pieces',
    needs: 'the log of a job under TORCH_TRACE, or its stderr under TORCH_LOGS=graph_breaks',
    looksFor: 'Graph breaks in the log of a job that is not bound by the GPU, input or communication.',
    why: 'At a graph break compiled code returns to Python. Kernels cannot be fused across it, and the host launches more.',
    ...about('whole-graph'),
    thresholds: [],
  },
  check({ evidence: { graphBreaks }, verdict }) {
    if (graphBreaks.length === 0) return silent('no graph breaks were logged');
    if (verdict.bottleneck !== 'host' && verdict.bottleneck !== 'unknown')
      return silent('there are graph breaks, but the host is not the bottleneck');
    const places = distinct(graphBreaks);
    return found({
      id: 'graph-breaks',
      title: `torch.compile breaks the graph at ${formatCount(places.length, 'place')}`,
      confidence: 0.6,
      addresses: 'host',
      evidence: places
        .slice(0, MAX_SHOWN)
        .map(({ file, line, reason, rank }) =>
          evidenceOf(rank, `graph break at ${file}:${line}${reason && `: ${reason}`}`),
        ),
      price: null,
      ranks: [...new Set(graphBreaks.flatMap((b) => b.rank ?? []))],
    });
  },
};

/** All ranks run the same code. */
function distinct(breaks: readonly GraphBreak[]): readonly GraphBreak[] {
  return [...new Map(breaks.map((b) => [`${b.file}:${b.line}`, b])).values()];
}
