import { expect, it } from 'vitest';
import { hitWords } from '../timeline/toolbar.js';
import { tabAfter } from './tables.js';

it('arrow keys, Home and End lead from tab to tab, around the ends', () => {
  expect(['ArrowRight', 'ArrowLeft', 'Home', 'End', 'Enter'].map((key) => tabAfter(key, 0, 3))).toEqual([
    1,
    2,
    0,
    2,
    null,
  ]);
  expect(tabAfter('ArrowRight', 2, 3)).toBe(0);
});

it('a search that ended at its limit shows that there are more hits', () => {
  expect([hitWords(0, -1), hitWords(12, 3), hitWords(2000, 533)]).toEqual([
    'nothing found',
    '4 of 12',
    '534 of 2000+',
  ]);
});
