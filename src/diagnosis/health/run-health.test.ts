import { expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { compareRanks } from '../../run/compare.js';
import type { RankView } from '../ranks/rank-view.js';
import { runHealth } from './run-health.js';

const drawn = drawView(
  steps(4, 1000, 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 10-20 #1\n gpu 7  gemm 30-900 #1'),
);
const healthOf = (...views: readonly RankView[]) =>
  runHealth({
    inputs: { problems: [], beside: [], members: [] } as never,
    members: [],
    views,
    locations: { problems: [], worldSize: null } as never,
    comparison: compareRanks([]),
  }).with([]);

it('collectives that did not fit are a problem of their rank', () => {
  const collectives = { length: 1000, leftOut: 7 } as RankView['facts']['collectives'];
  const view = { ...drawn, facts: { ...drawn.facts, collectives } } as RankView;
  expect(healthOf(view).problems).toMatchObject([
    {
      code: 'collectives-left-out',
      severity: 'warning',
      count: 7,
      ranks: [0],
      message: '7 collectives beyond the first 1000 were left out',
    },
  ]);
  expect(healthOf(drawn).problems).toEqual([]);
});

it('ranks without a trace say so where others have one', () => {
  const logged = { ...loggedView({ compute: 8, idle_host: 2 }), rank: 1 };
  expect(healthOf(drawn, logged, { ...logged, rank: 2 }).problems).toMatchObject([
    { code: 'divided-by-log', severity: 'note', ranks: [1, 2] },
  ]);
  expect(healthOf(logged).problems).toEqual([]);
});
