import { describe, expect, it } from 'vitest';
import type { CollectiveGroup } from '../../facts/rank-collectives.js';
import { unrecordedRanks } from './views.js';

const group = (size: number | null, ranks: readonly number[] | null): CollectiveGroup => ({
  key: `${size} ${ranks}`,
  name: 'g',
  description: '',
  size,
  ranks,
  named: true,
});

describe('ranks that were not recorded', () => {
  it.each([
    ['the world, one of them recorded', [group(4, [0, 1, 2, 3])], [0], { count: 3, of: 4, ranks: [1, 2, 3] }],
    ['two groups', [group(2, [0, 1]), group(2, [0, 2])], [0, 1], { count: 1, of: 3, ranks: [2] }],
    ['a group without a list', [group(8, null)], [0, 1], { count: 6, of: 8, ranks: null }],
    ['ranks from the order of files', [group(2, [4, 5])], [0], { count: 1, of: 2, ranks: null }],
    ['all recorded', [group(2, [0, 1])], [0, 1], null],
    ['nothing known', [group(null, null)], [0], null],
    ['no groups', [], [0], null],
  ])('%s', (_, groups, recorded, expected) => {
    expect(unrecordedRanks(groups, new Set(recorded))).toEqual(expected);
  });
});
