import { appendFileSync } from 'node:fs';
import fc from 'fast-check';

/**
 * Random tests run a fixed number of cases from a fixed seed, so that `npm test` does the same every time. `npm run soak`
 * sets both variables: other seeds, and the full number of cases or many times as many.
 */
export const SEED = Number(process.env.WHYSLOW_SEED ?? 20_250_115);
const FACTOR = Number(process.env.WHYSLOW_SOAK ?? 0);
export const SOAK = FACTOR > 0;

/** How many cases to run: `few` in `npm test`, `full` times the factor in `npm run soak`. */
export const cases = (few: number, full = few): number => (SOAK ? full * FACTOR : few);

/** Where to cut or damage this many bytes. In `npm run soak` at each; in `npm test` near both ends and at every seventh. */
export function places(length: number): number[] {
  const near = 24;
  const all = Array.from({ length: Math.max(0, length - 1) }, (_, i) => i + 1);
  return SOAK ? all : all.filter((at) => at <= near || at >= length - near || at % 7 === 0);
}

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
