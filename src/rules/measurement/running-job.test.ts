import { expect, it } from 'vitest';
import { drawView, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './running-job.js';

it('sends to triage: a trace does not show what the rest of the machine did', () => {
  const view = drawView(
    steps(
      4,
      1000,
      'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 0-10 #1\ngpu 7  nvjet_tst_256 20-990 #1',
    ),
  );
  expect(silence(rule, view)).toMatch(/whyslow triage/);
});
