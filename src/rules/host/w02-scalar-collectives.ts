import { evidence, silent } from '../kit.js';
import type { Rule } from '../rule.js';

const COLLECTIVES = 2;

export const scalarCollectives: Rule = {
  info: {
    id: 'W2',
    title: 'Several collectives of single numbers every step',
    needs: 'ranks or trace',
    looksFor: 'Communication kernels that move a few numbers (losses, norms, counts), several a step.',
    why: 'Each costs a launch and a round trip between all ranks, and when its result is read, a stop of the whole pipeline.',
    fix: {
      text: 'Put the values into one tensor, reduce it once, read it one step late.',
      code: 'values = torch.stack([loss, grad_norm, tokens])   # one tensor\ndist.all_reduce(values, async_op=True)            # one collective\n# read the previous step’s values instead of this one’s',
    },
    check: 'Sums and means must be taken the same way: reduce sums and counts, divide after.',
    cost: 'code',
    risk: 'none',
    thresholds: [
      { name: 'scalar collectives', value: COLLECTIVES, unit: 'a step', source: 'one gather is enough' },
    ],
  },
  check(view) {
    const { collectives } = view.facts.detail ?? {};
    if (!collectives || collectives.count === 0) return silent('no collectives on the device');
    if (collectives.scalar < COLLECTIVES) return silent('collectives carry tensors, not single numbers');
    return {
      findings: [
        {
          id: 'scalar-collectives',
          title: 'several collectives a step move a few numbers each',
          confidence: 0.8,
          addresses: 'comms',
          evidence: [
            evidence(
              view,
              `${collectives.scalar.toFixed(0)} of ${collectives.count.toFixed(0)} collectives a step carry at most 64 elements`,
              Math.round(collectives.scalar),
              'collectives/step',
            ),
          ],
          price: null,
        },
      ],
    };
  },
};
