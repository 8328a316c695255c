import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

const FAULTS = {
  'odd-line': {
    message: 'A line is not one of a recording.',
    consequence: 'The line is left out.',
  },
  'cut-line': { message: 'The last line is incomplete.', consequence: 'It is left out.' },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'nul-bytes': {
    message: 'The recording has NUL bytes, as a machine that crashed leaves them.',
    consequence: 'They are left out.',
  },
  'too-many-samples': {
    message: 'There are more samples of threads than the two million that are kept.',
    consequence: 'Later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type ProcSamplesFaults = FaultCounter<keyof typeof FAULTS>;
export const newProcSamplesFaults = (): ProcSamplesFaults => new FaultCounter(FAULTS, 'line');
