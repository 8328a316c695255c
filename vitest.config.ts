import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/helpers/summary-reporter.js';

/** Real training jobs whose timing is judged: they run after everything else, one at a time. */
const JOBS = ['test/e2e/run-jobs.test.ts', 'test/e2e/capture-job.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    setupFiles: ['test/helpers/cases.ts'],
    // To end what hangs: nothing takes a tenth of it on a machine of its own.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: JOBS,
          // Left to itself vitest keeps one of two cores free.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'jobs',
          include: JOBS,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
