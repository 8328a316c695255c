import { describe, expect, it } from 'vitest';
import { oftenLast } from './often-last.js';
import type { RankDump } from './progress.js';

/** `ms(rank, sequence)`: how long each rank is in each collective. */
const job = (world: number, count: number, ms: (rank: number, sequence: number) => number | null) =>
  Array.from(
    { length: world },
    (_, rank): RankDump => ({
      rank,
      dump: {
        groups: [
          { name: 'dp', description: 'dp', ranks: Array.from({ length: world }, (_, r) => r), entered: null },
        ],
        calls: Array.from({ length: count }, (_, i) => ({
          group: 'dp',
          description: 'dp',
          sequence: i + 1,
          name: 'all_reduce',
          peer: null,
          sizes: '[[8]]',
          types: 'Float',
          isDone: true,
          enteredNs: i,
          durationMs: ms(rank, i),
          calledFrom: null,
        })),
      },
    }),
  );

describe('the rank that is last most often', () => {
  it('spends least time in collectives, because the others wait for it there', () => {
    expect(oftenLast(job(4, 20, (rank, i) => (rank === (i % 5 === 0 ? 1 : 2) ? 1 : 9)))).toEqual({
      rank: 2,
      times: 16,
      of: 20,
      waitMs: 8,
    });
  });

  it.each([
    ['all take turns', job(4, 40, (rank, i) => (rank === i % 4 ? 1 : 9))],
    ['nobody is clearly last', job(4, 40, (rank) => (rank === 2 ? 9 : 10))],
    ['there are few collectives', job(4, 5, (rank) => (rank === 2 ? 1 : 9))],
    ['nothing was timed', job(4, 40, () => null)],
    [
      'of two ranks one is last a little more often',
      job(2, 40, (rank, i) => (rank === Number(i % 5 < 2) ? 1 : 9)),
    ],
    ['one rank left no dump', job(4, 40, (rank) => (rank === 2 ? 1 : 9)).slice(1)],
  ])('is nobody if %s', (_, dumps) => {
    expect(oftenLast(dumps)).toBeNull();
  });
});
