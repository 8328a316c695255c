import { appendFileSync } from 'node:fs';
import fc from 'fast-check';

/**
 * Random tests run a fixed number of cases from a fixed seed, so that `npm test` does the same every time. `npm run soak`
 * sets both variables: other seeds, and many times as many simulated runs.
 */
export const SEED = Number(process.env.WHYSLOW_SEED ?? 20_250_115);
const FACTOR = Number(process.env.WHYSLOW_SOAK ?? 1);

/** How many cases to run: `count` in `npm test`, more in `npm run soak`. */
export const cases = (count: number): number => count * FACTOR;

/** Adds to the number of cases that `npm run soak` prints. */
export function countCases(count: number): void {
  const { WHYSLOW_CASES } = process.env;
  if (WHYSLOW_CASES) appendFileSync(WHYSLOW_CASES, `${count}\n`);
}

/** Vitest loads this before every test file. */
fc.configureGlobal({
  seed: SEED,
  reporter: (details) => {
    countCases(details.numRuns);
    if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
  },
});
