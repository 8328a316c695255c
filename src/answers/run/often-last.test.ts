import { describe, expect, it } from 'vitest';
import type { Observed } from '../../diagnosis/observe.js';
import { oftenLastRemark } from './remarks.js';

interface Drawn {
  readonly last: readonly number[];
  readonly ranks?: number;
  readonly steps?: number;
  readonly causedMs?: number;
}
const remark = ({ last, ranks = 8, steps = 1, causedMs = 2 }: Drawn) =>
  oftenLastRemark({
    comparison: {
      late: [],
      table: { steps: Array.from({ length: steps }, (_, i) => i), recorded: 20e6 },
      matched: { ranks: Array.from({ length: ranks }, (_, i) => i) },
      waits: {
        late: last,
        ranks: Array.from({ length: ranks }, (_, rank) => ({ rank, caused: causedMs * 1e6 })),
      },
    },
  } as unknown as Observed)?.detail;

describe('a rank that comes last to most of a few collectives', () => {
  it('is named with the count, and not called late', () =>
    expect(remark({ last: [-1, 7, 7, 7, 7, 5, 5, 4] })).toBe(
      'Rank 7 comes last to 4 of 7 collectives, and others wait up to 2.00 ms per step for it; too few steps were recorded to call it late',
    ));

  it.each<[string, Drawn]>([
    ['every rank comes last now and then', { last: [0, 3, 5, 1, 0, 2, 7] }],
    [
      'one of two ranks comes last to five of eight, as by chance',
      { last: [0, 0, 0, 0, 0, 1, 1, 1], ranks: 2 },
    ],
    ['there are four collectives', { last: [7, 7, 7, 7] }],
    ['nobody waits long for it', { last: [7, 7, 7, 7, 7, 7], causedMs: 0.1 }],
    ['there are enough steps to compare the ranks', { last: [7, 7, 7, 7, 7, 7], steps: 8 }],
  ])('is not named where %s', (_, drawn) => expect(remark(drawn)).toBeUndefined());
});
