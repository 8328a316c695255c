import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/helpers/slow-first.js';
import { SummaryReporter } from './test/helpers/summary-reporter.js';

/** They replace modules, set variables of the process or measure its processor time: each gets a process of its own. */
const ISOLATED = [
  'src/cli/commands/diagnose.test.ts',
  'test/e2e/remote.test.ts',
  'test/e2e/scaling.test.ts',
  'test/property/open-files.test.ts',
];
/** They start programs and read much: in processes of their own, so that the others keep a small heap. */
const PROGRAMS = ['test/e2e/**/*.test.ts', 'test/browser/**/*.test.ts'];
/** Real training jobs whose timing is judged: they run after everything else, one at a time. */
const JOBS = ['test/e2e/run-jobs.test.ts'];
// One more than there are cores: many tests wait for processes or sleep.
const maxWorkers = availableParallelism() + 1;

export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    setupFiles: ['test/helpers/cases.ts'],
    // To end what hangs: nothing takes a tenth of it on a machine of its own.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: ['src/**/*.test.ts', 'web/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...ISOLATED, ...PROGRAMS],
          // The code keeps no state between calls: files may share a process, which saves half of the time: modules are
          // loaded once, and V8 has optimized them.
          isolate: false,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          include: PROGRAMS,
          exclude: [...ISOLATED, ...JOBS],
          isolate: false,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ISOLATED,
          maxWorkers,
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
