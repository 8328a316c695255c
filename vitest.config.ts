import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SlowFirst } from './test/helpers/slow-first.js';
import { SummaryReporter } from './test/helpers/summary-reporter.js';

/** They replace modules, set environment variables or measure processor time: each gets a process of its own. */
const ISOLATED = [
  'src/cli/commands/diagnose.test.ts',
  'test/e2e/remote.test.ts',
  'test/e2e/scaling.test.ts',
  'test/property/unpacked-size.test.ts',
];
/** Beside the code, or about it: `npm run test:unit` runs only these. They need no build, no Python and little time. */
const UNITS = [
  'src/**/*.test.ts',
  'web/**/*.test.ts',
  'schemas/*.test.ts',
  'test/architecture/*.test.ts',
  'test/helpers/*.test.ts',
];
/** They start programs and read much: in processes of their own, so that the others keep a small heap. */
const PROGRAMS = ['test/e2e/**/*.test.ts', 'test/browser/**/*.test.ts'];
/** Real training jobs whose timing is checked: they run after everything else, one at a time. */
const JOBS = ['test/e2e/run-jobs.test.ts'];
// One more than there are cores: many tests wait for processes or sleep.
const maxWorkers = availableParallelism() + 1;

export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    setupFiles: ['test/helpers/cases.ts'],
    // Ends what hangs: on an idle machine nothing takes a tenth of it.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: UNITS,
          exclude: ISOLATED,
          // The code keeps no state between calls, so files may share a process. This saves half of the time: modules are
          // loaded once, and V8 has optimized them.
          isolate: false,
          maxWorkers,
          sequence: { groupOrder: 0 },
          // A unit test that hangs should not cost four minutes.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts'],
          exclude: [...UNITS, ...ISOLATED, ...PROGRAMS],
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
