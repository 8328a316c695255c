import { describe, expect, it } from 'vitest';
import type { Observed } from '../../diagnosis/observe.js';
import type { Comparison } from '../../run/compare.js';
import type { Claim } from '../kit/claim.js';
import { decide } from '../kit/decide.js';
import { words } from '../kit/words.js';
import { lateRanksRemark, unrecordedRanksRemark } from './remarks.js';

const SIX = { count: 6, of: 8, ranks: [2, 3, 4, 5, 6, 7] };
const LATE = { ranks: [3], pattern: 'persistent', cause: 'data', cost: 5e6, confidence: 0.9, steps: [] };
const comparison = (more: object) => ({ late: [], ...more }) as unknown as Comparison;
/** One group, partly captured; half of its transfers take `slower` times as long as the fastest. */
const unseen = (slower: number, captured: readonly number[], size: number | null) =>
  comparison({
    bandwidth: [{ group: 0, transferMedian: slower * 1e6, transferP10: 1e6 }],
    matched: { groups: [{ name: 'dp', captured, size }], ranks: [0, 1] },
  });

function decided(
  bottleneck: 'comms' | 'gpu',
  compared: Comparison | null,
  unrecorded: Observed['unrecorded'],
) {
  const run = { comparison: compared, unrecorded } as Observed;
  const steps = (): Claim => ({
    bottleneck,
    cause: bottleneck === 'gpu' ? 'gpu-busy' : 'exposed-communication',
    confidence: 0.9,
    words: words('Some label', 'a headline'),
  });
  const remarks = [lateRanksRemark(run), unrecordedRanksRemark(run)].filter((remark) => remark !== null);
  return decide(run, [() => null, steps, () => null], remarks).verdict;
}

describe('ranks in a verdict', () => {
  it('are named if they are late', () => {
    const said = decided('comms', comparison({ late: [LATE] }), SIX);
    expect(said.details).toEqual([expect.stringMatching(/^Rank 3 is late/)]);
    expect(said.sentence).toMatch(/^Some label: a headline\. Rank 3 is late/);
    expect(said.confidence).toBe(0.9);
    expect(decided('gpu', comparison({ late: [LATE] }), null).details).toHaveLength(1);
  });

  it.each([
    ['slow transfers make that likely', unseen(3.1, [0, 1], 8), 'waiting-for-unseen-rank', /probably late$/],
    [
      'transfers hardly differ',
      unseen(2.9, [0, 1], 8),
      'exposed-communication',
      /^Ranks 2–7 were.*if one of/,
    ],
    ['only one rank was recorded', null, 'exposed-communication', /^Ranks 2–7 were.*if one of/],
  ] as const)('may be late if they were not recorded: %s', (_, compared, cause, detail) => {
    const said = decided('comms', compared, SIX);
    expect(said).toMatchObject({ cause, confidence: 0.75, bottleneck: 'comms' });
    expect(said.details).toEqual([expect.stringMatching(detail)]);
  });

  it.each([
    ['all of them were recorded', 'comms', unseen(3.1, [0, 1], 2), null],
    ['communication is not the bottleneck', 'gpu', unseen(3.1, [0, 1], 8), SIX],
    ['there is only one', 'comms', null, null],
  ] as const)('are not mentioned when %s', (_, bottleneck, compared, unrecorded) => {
    expect(decided(bottleneck, compared, unrecorded)).toMatchObject({ confidence: 0.9, details: [] });
  });

  it('that were not recorded are named, or counted if they are many', () => {
    const detail = (unrecorded: Observed['unrecorded'], compared: Comparison | null) =>
      decided('comms', compared, unrecorded).details[0];
    expect(detail({ count: 1, of: 4, ranks: [2] }, null)).toBe(
      'Rank 2 was not recorded: if it is late, part of this is waiting for it',
    );
    const many = Array.from({ length: 4000 }, (_, i) => i + 96);
    expect(detail({ count: 4000, of: 4096, ranks: many }, unseen(3.1, [0, 1], 8))).toBe(
      '4000 of 4096 ranks were not recorded: most transfers take far longer than the fastest, so one of them is probably late',
    );
  });
});
