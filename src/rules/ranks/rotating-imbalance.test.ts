import { expect, it } from 'vitest';
import { atPace, drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { ns } from '../../base/units.js';
import type { LateRanks } from '../../run/lateness/late-ranks.js';
import { rule } from './rotating-imbalance.js';

const STEP = `
  host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 100-110 #1
  gpu 7   nvjet_tst_256 200-49000 #1`;
const ranks = [0, 1].map((rank) => atPace(drawView(steps(4, 50000, STEP), { rank }), 50));
const rotating: LateRanks = {
  ranks: [],
  pattern: 'rotating',
  cause: 'gpu',
  cost: ns(20e6),
  confidence: 0.9,
  location: null,
  steps: [2, 3, 4],
};
const across = { late: [rotating], steps: 8, links: [], overlap: null };

it('is reported once, by the first rank', () => {
  const expected = { id: 'rotating-imbalance', addresses: 'gpu', unit: 'ms/step', placed: false } as const;
  const found = fires(rule, ranks[0]!, expected, { ranks, across });
  expect(found.price!.speedup.likely).toBeCloseTo(50 / 30, 6);
  expect(found.fix!.code).toBe('whyslow diagnose OUT --all');
  expect(silence(rule, ranks[1]!, { ranks, across })).toBe('no rank stands out');
});

it('is silent where one rank is late, and about a single rank', () => {
  const single = { ...across, late: [{ ...rotating, ranks: [1], pattern: 'persistent' as const }] };
  expect(silence(rule, ranks[0]!, { ranks, across: single })).toBe('no rank stands out');
  expect(silence(rule, ranks[0]!)).toMatch(/one rank only/);
});
