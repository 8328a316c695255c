import type { ProblemText } from '../../base/problem.js';

/** What the scanners tolerate. The order is shared with wasm/assembly/counters.ts. */
export const COUNTER = {
  ...{ nonFinite: 0, trailingComma: 1, missingComma: 2, noPhase: 3, longString: 4, stringsFull: 5 },
  ...{ kindsFull: 6, tracksFull: 7, noTimestamp: 8, noDuration: 9, wideLost: 10 },
} as const;

export const COUNTER_PROBLEMS: readonly (ProblemText & { readonly code: string })[] = [
  {
    code: 'non-finite-number',
    message: 'NaN or infinity where JSON has no such number',
    consequence: 'read as missing',
  },
  { code: 'trailing-comma', message: 'a comma before a closing bracket', consequence: 'none' },
  { code: 'missing-comma', message: 'no comma between two events', consequence: 'none' },
  { code: 'not-an-event', message: 'an object in traceEvents without "ph"', consequence: 'left out' },
  { code: 'long-string', message: 'a text above 64 KiB', consequence: 'cut to 64 KiB' },
  {
    code: 'too-many-strings',
    message: 'more than 4 million different texts, or 256 MB of them',
    consequence: 'the ones beyond have no name',
  },
  {
    code: 'too-many-kinds',
    message: 'more than 255 categories',
    consequence: 'the ones beyond count as one',
  },
  {
    code: 'too-many-tracks',
    message: 'more than 65534 threads',
    consequence: 'the ones beyond count as one',
  },
  { code: 'no-timestamp', message: 'an event without a time', consequence: 'kept, but it is in no analysis' },
  {
    code: 'no-duration',
    message: 'a complete event ("X") without a duration',
    consequence: 'counted as 0 long',
  },
  {
    code: 'too-many-wide-ids',
    message: 'more than four ids above 32 bits in one event',
    consequence: 'the ones beyond are read as missing',
  },
];
