import { about } from '../../remedies/remedies.js';
import { countEvidence } from '../kit/evidence.js';
import { isWorthwhile } from '../kit/price.js';
import { found, silent, type TraceRule } from '../kit/rule.js';
import { priceWithoutReads, SHAPES, waitsOf } from '../kit/waits.js';

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  lines: /nonzero|\.item\(|masked_select|unique\(|\[[^\]]*(?:mask|idx|[<>=]=?)[^\]]*\]/,
  unpriced: 'allowed',
  info: {
    id: 'shapes-from-data',
    alias: 'T23',
    title: 'Shapes depend on values',
    needs: 'trace',
    looksFor:
      'Several nonzero, unique or boolean-mask operators per step; the host waits for the size of each.',
    why: 'The waits may cost little, but a model whose shapes depend on values cannot be compiled or captured as a whole.',
    ...about('fixed-sizes'),
    thresholds: [SHAPES],
  },
  check(view) {
    const { shapes } = waitsOf(view);
    if (shapes < SHAPES.value) return silent('few shapes depend on values');
    if (isWorthwhile(priceWithoutReads(view))) return silent('host-sync covers the waits');
    const text = `${shapes.toFixed(0)} results per step whose size depends on data (nonzero, boolean masks): the host waits for each`;
    return found({
      id: 'shapes-from-data',
      title: 'shapes depend on values: the host waits for each, and nothing can be captured',
      confidence: 0.7,
      addresses: 'host',
      evidence: [countEvidence(view, shapes, 'waits', text)],
      price: null,
    });
  },
};
