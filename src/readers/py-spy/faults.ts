import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

const FAULTS = {
  'odd-line': {
    message: 'A line is not what py-spy writes.',
    consequence: 'The line is left out.',
  },
  'cut-line': { message: 'The last line is incomplete.', consequence: 'It is left out.' },
  'cut-picture': {
    message: 'The flame graph is incomplete.',
    consequence: 'What comes before the cut was read; stacks may end too early.',
  },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-stacks': {
    message: 'There are more threads or different stacks than are kept.',
    consequence: 'Further ones are left out.',
  },
  'too-large': { message: 'The file is larger than 256 MiB.', consequence: 'It was not read.' },
  'broken-json': {
    message: 'The file is not complete JSON; it may be cut short.',
    consequence: 'Nothing in it is used.',
  },
  'wrong-type': {
    message: 'A stack or a frame has a value of the wrong type.',
    consequence: 'It is left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type PySpyFaults = FaultCounter<keyof typeof FAULTS>;
export const newPySpyFaults = (): PySpyFaults => new FaultCounter(FAULTS, 'line');
