import type { RankCollectives } from '../../facts/rank-collectives.js';
import { evidence, ms, percent, silent } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

const COLLECTIVES = 2;
/** A few numbers: losses, norms, counts. */
const SCALAR_BYTES = 512;

export const scalarCollectives: TraceRule = {
  reads: 'traces',
  info: {
    id: 'W2',
    title: 'Several collectives of single numbers every step',
    needs: 'ranks or trace',
    looksFor:
      'Collectives, on the device or the host, that move a few numbers (losses, norms, counts), several a step.',
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
      { name: 'scalar', value: SCALAR_BYTES, unit: 'bytes', source: '64 numbers of 8 bytes' },
    ],
  },
  check(view) {
    const { collectives } = view.facts;
    if (!collectives || collectives.length === 0) return silent('no collectives were recorded');
    const small = smallOnes(collectives);
    const [count, scalar] = [collectives.length, small.length].map((n) => n / collectives.steps.length);
    if (!(scalar! >= COLLECTIVES)) return silent('collectives carry tensors, not single numbers');
    const exposed = small.reduce((ns, i) => ns + collectives.exposed[i]!, 0) / collectives.steps.length;
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
              `${scalar!.toFixed(0)} of ${count!.toFixed(0)} collectives a step carry at most ${SCALAR_BYTES} bytes: nothing hides ${ms(exposed)} a step of them (${percent(exposed / view.step)}), waiting for other ranks included`,
              Math.round(scalar!),
              'collectives/step',
            ),
          ],
          price: null,
        },
      ],
    };
  },
};

/** Places of those that move a few numbers. Of barriers, and where sizes are not recorded (NaN), nothing is known. */
function smallOnes({ bytes, length }: RankCollectives): number[] {
  return Array.from({ length }, (_, i) => i).filter((i) => bytes[i]! > 0 && bytes[i]! <= SCALAR_BYTES);
}
