import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

/** Every fault this reader tolerates. Lines that are not torch's are the job's own output and no fault. */
const FAULTS = {
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-functions': {
    message: 'The log names more than 256 compiled functions.',
    consequence: 'Further ones are left out.',
  },
  'too-many-guards': {
    message: 'More than 32 different guards of one function failed.',
    consequence: 'Further ones are left out.',
  },
  'too-many-breaks': {
    message: 'The log names more than 256 graph breaks.',
    consequence: 'Further ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type TorchLogFaults = FaultCounter<keyof typeof FAULTS>;
export const newTorchLogFaults = (): TorchLogFaults => new FaultCounter(FAULTS, 'line');
