import type { ProblemText } from '../../base/problem.js';
import { LineFaults } from '../common/line-faults.js';

const FAULTS = {
  'cut-sample': {
    message: 'The last line stops before its end.',
    consequence: 'That sample is left out; the ones before it are complete.',
  },
  'odd-line': {
    message: 'A line fits neither the header nor its columns.',
    consequence: 'The line is left out.',
  },
  'odd-value': {
    message: 'A figure is no number, or one that cannot be.',
    consequence: 'It is taken as unknown; the others of the sample count.',
  },
  'nul-bytes': {
    message: 'There are NUL bytes in the log, as a crash of the machine leaves them; counted in bytes.',
    consequence: 'Samples that were not yet on disk at the crash are missing.',
  },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-gpus': {
    message: 'The log seems to have more than 1024 GPUs.',
    consequence: 'Samples of those beyond are left out.',
  },
  'too-many-samples': {
    message: 'The log has more than a million samples.',
    consequence: 'The later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type FaultCode = keyof typeof FAULTS;

export class FaultCounter extends LineFaults<FaultCode> {
  constructor() {
    super(FAULTS);
  }
}
