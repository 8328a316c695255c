import { expect, it } from 'vitest';
import { NO_EVIDENCE } from '../diagnosis/run-evidence.js';
import { memoryOnPage, waitsOnPage } from './build-page.js';

const facts = {
  device: 0,
  events: 9,
  at: {
    allocated: 30,
    reserved: 64,
    parts: [
      {
        kind: 'activations' as const,
        bytes: 30,
        count: 1,
        lines: [{ at: 'model.py:9 in forward', bytes: 30, count: 1 }],
      },
    ],
  },
  peak: 30,
  oom: null,
  steps: 1,
  growth: [],
  overTime: {
    seconds: [0, 2],
    reserved: [64, 64],
    kinds: [
      [1, 2],
      [3, 4],
      [0, 0],
      [5, 24],
      [0, 0],
      [0, 0],
      [0, 0],
    ],
  },
  expandableSegments: null,
};

it('the page has the parts of the memory at the peak, and each moment by kind', () => {
  expect(memoryOnPage({ memory: [{ rank: null, facts }] })).toMatchObject({
    parts: [{ kind: 'activations', bytes: 30 }],
    most: 30,
    slices: [
      [1, 3, 0, 5, 0, 0, 0],
      [2, 4, 0, 24, 0, 0, 0],
    ],
    seconds: 2,
  });
});

it('the page has no memory and no waits without evidence', () => {
  expect(memoryOnPage(NO_EVIDENCE)).toBeNull();
  expect(waitsOnPage(NO_EVIDENCE)).toBeNull();
});
