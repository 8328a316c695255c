import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS, runOf } from '../../../test/helpers/draw-run.js';
import type { DumpedCall, Hang } from '../../diagnosis/hang/hang.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import { runRules } from '../run-rules.js';
import { rule } from './stuck-collective.js';

const CALL: DumpedCall = {
  group: '1',
  description: 'dp',
  sequence: 4,
  name: 'all_reduce',
  peer: null,
  sizes: '[[4]]',
  types: 'Float',
  isDone: false,
  enteredNs: 1,
  durationMs: null,
  calledFrom: 'train.py:12 in step',
};
const HANG: Hang = {
  culprits: [{ rank: 2, reason: 'absent', stands: null, last: null }],
  rings: [],
  different: null,
  waits: [{ ranks: [0, 1], on: [2], call: CALL, reason: 'absent' }],
  inCall: [],
};
const ask = (hang: Hang | null) =>
  runRules([rule], { ...runOf([], 'unknown'), evidence: { ...NO_EVIDENCE, hang } });

describe('a collective that ranks do not leave', () => {
  it('names the missing rank first, with where the others wait', () => {
    const [finding] = ask(HANG).findings;
    expect(finding).toMatchObject({ id: 'stuck-collective', rule: 'T21', ranks: [2], confidence: 0.9 });
    expect(finding!.evidence.map((e) => e.text)).toEqual([
      'rank 2 waits for no other rank',
      'ranks 0–1 wait for rank 2 in all_reduce #4 of dp, called from train.py:12 in step',
    ]);
  });

  const calls = [
    { call: 'a', ranks: [0] },
    { call: 'b', ranks: [1] },
  ];
  it.each([
    [{ culprits: [{ ...HANG.culprits[0]!, reason: 'no-dump' }] }, 'stuck-collective', [2]],
    [{ culprits: [], waits: [], inCall: [{ ranks: [0, 1], call: CALL }] }, 'stuck-collective', []],
    [
      { culprits: [], different: { group: 'dp', sequence: 4, calls, odd: [] } },
      'different-collectives',
      [0, 1],
    ],
  ] as const)('advises on %j', (more, id, ranks) => {
    const [finding] = ask({ ...HANG, ...more }).findings;
    expect(finding).toMatchObject({ id, ranks });
    expect(finding!.fix.code.split('\n').filter((l) => l.length > CODE_COLUMNS)).toEqual([]);
  });

  it('is silent without a dump', () =>
    expect(ask(null).silent[0]!.reason).toMatch(/no flight-recorder dump/));
});
