import { expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './find-unused-parameters.js';

const PLAIN = `
  host 1  ProfilerStep#1 0-20000 | aten::mm 0-100 | cudaLaunchKernel 50-60 #1
  gpu 7   nvjet_tst_256 70-19000 #1`;
const SEARCHES = PLAIN.replace(
  '#1\n',
  '#1 | torch.distributed.ddp.reducer::search_unused_parameters 19000-19500\n',
);

it('names a search for unused parameters, and how long it takes', () => {
  const expected = {
    id: 'find-unused-parameters',
    addresses: 'comms',
    unit: 'ms/step',
    placed: false,
  } as const;
  const found = fires(rule, drawView(steps(4, 20000, SEARCHES)), expected);
  expect(found.evidence[0]!.text).toMatch(/search_unused_parameters: 0\.50 ms per step/);
});

it('is silent without one', () => {
  expect(silence(rule, drawView(steps(4, 20000, PLAIN)))).toMatch(/does not search/);
});
