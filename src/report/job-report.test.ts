import { expect, it } from 'vitest';
import { jobLog } from '../../test/helpers/draw-job.js';
import { analyzeOne } from '../../test/helpers/logs.js';
import { jobOf } from './job-report.js';

it('a compilation before the first batch counts as compiling, as one in the first step does, and not as start-up', () => {
  const parts = (compiledFirstMs: number, compile: number) => {
    const phases = compile > 0 ? { compile: { ms: compile, count: 1, last: 0 } } : {};
    const { job } = analyzeOne(jobLog({ phases, startUpMs: 3000, compiledFirstMs }));
    return Object.fromEntries(jobOf(job)!.phases.map(({ name, s, count }) => [name, [s, count]]));
  };
  expect(parts(2000, 500)).toEqual({ compile: [2.5, 2], 'start-up': [1, 1], steps: [1, 100] });
  expect(parts(2000, 0)).toEqual({ compile: [2, 1], 'start-up': [1, 1], steps: [1, 100] });
  expect(parts(0, 500)).toEqual({ compile: [0.5, 1], 'start-up': [3, 1], steps: [1, 100] });
  // No more than all of start-up, whatever a log says.
  expect(parts(9000, 0)).toEqual({ compile: [3, 1], steps: [1, 100] });
});
