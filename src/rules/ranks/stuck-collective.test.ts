import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS, runOf } from '../../../test/helpers/draw-run.js';
import { NO_EVIDENCE, type StuckCollective } from '../../diagnosis/run-evidence.js';
import { runRules } from '../run-rules.js';
import { rule } from './stuck-collective.js';

const STUCK: StuckCollective = {
  group: 'dp',
  sequence: 4,
  name: 'nccl:all_reduce',
  calledFrom: 'train.py:12 in step',
  waiting: [0, 1],
  missing: [{ rank: 2, last: null }],
  unknown: [],
  different: [],
};
const ask = (...stuck: StuckCollective[]) =>
  runRules([rule], { ...runOf([], 'unknown'), evidence: { ...NO_EVIDENCE, stuck } });

describe('a collective that ranks do not leave', () => {
  it('names the missing rank first, with where the others wait', () => {
    const [finding] = ask(STUCK).findings;
    expect(finding).toMatchObject({ id: 'stuck-collective', rule: 'T21', ranks: [2], confidence: 0.9 });
    expect(finding!.evidence.map((e) => e.text)).toEqual([
      'ranks 0–1 entered all_reduce #4 of dp, called from train.py:12 in step',
      'rank 2 entered none of this group',
    ]);
  });

  it.each([
    [{ missing: [], unknown: [7] }, 'stuck-collective', [7]],
    [{ missing: [] }, 'stuck-collective', [0, 1]],
    [
      {
        missing: [],
        different: [
          { call: 'a', ranks: [0] },
          { call: 'b', ranks: [1] },
        ],
      },
      'different-collectives',
      [0, 1],
    ],
  ] as const)('advises on %j', (more, id, ranks) => {
    const [finding] = ask({ ...STUCK, ...more }).findings;
    expect(finding).toMatchObject({ id, ranks });
    expect(finding!.fix.code.split('\n').filter((l) => l.length > CODE_COLUMNS)).toEqual([]);
  });

  it('is silent without a dump', () => expect(ask().silent[0]!.reason).toMatch(/no flight-recorder dump/));
});
