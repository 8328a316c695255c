import { expect, it } from 'vitest';
import { drawView, runOf } from '../../../test/helpers/draw-run.js';
import { ns } from '../../base/units.js';
import { rule } from './slow-link.js';

const view = drawView(
  'host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 100-110 #1\ngpu 7  nvjet_tst_256 200-49000 #1',
);
const link = {
  group: 'dp',
  ranks: [0, 4],
  hosts: ['a', 'b'],
  kind: 'all_reduce',
  gbps: 20,
  usualGbps: 80,
  cost: ns(6e6),
};

it('names the group, its hosts and how slow it is', () => {
  const run = {
    ...runOf([view]),
    across: { late: [], steps: 8, links: [link], overlap: null },
  };
  const result = rule.check(view, run);
  expect(result).toMatchObject({ findings: [{ id: 'slow-link-dp', addresses: 'comms' }] });
  expect(JSON.stringify(result)).toMatch(/20\.0 GB\/s, siblings 80\.0 GB\/s.*hosts a, b/);
});

it('is silent when no group stands out', () => {
  expect(rule.check(view, runOf([view]))).toEqual({ silent: 'no group’s transfers stand out' });
});
