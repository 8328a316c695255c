import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check } from '../kit/finding.js';

/** Gradients that are filled with zeros instead of dropped. */
export const checkZeroGrad: Check = ({ script, values, regions, text, mentions }) => {
  if (mentions(/\.grad\s*\+=|\.grad\.add_\(/)) return []; // it adds to gradients by hand
  const filling = script.calls.filter(({ method, positional, keywords, receiver }) => {
    if (method === 'zero_grad') return values.of(keywords.get('set_to_none') ?? positional[0]) === false;
    return method === 'zero_' && receiver !== null && /\.grad(?:\.data)?$/.test(text(receiver));
  });
  return filling
    .filter((call) => call.method === 'zero_grad' || regions.isPerStep(call.node, call.block))
    .map((call) => ({
      id: 'zero-fill',
      at: call.node,
      message:
        'Gradients are filled with zeros in every step: one more pass over all of them, and the next backward adds to them.',
      fix: inOneLine(use('drop-gradients')),
    }));
};
