import type { ProblemText } from '../../../base/problem.js';
import { FaultCounter } from '../fault-counter.js';

/** Every fault this reader tolerates, with the text shown for it. */
const FAULTS = {
  'cut-sample': {
    message: 'The last line is incomplete.',
    consequence: 'That sample is left out; the ones before it are complete.',
  },
  'odd-line': {
    message: 'A line is not a header and does not match the columns.',
    consequence: 'The line is left out.',
  },
  'odd-value': {
    message: 'A value is not a number, or is impossibly large.',
    consequence: 'It counts as unknown; the other values of the sample are used.',
  },
  'nul-bytes': {
    message: 'There are NUL bytes in the log, as after a machine crash; counted in bytes.',
    consequence: 'Samples that were not yet on disk at the crash are missing.',
  },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'too-many-gpus': {
    message: 'The log seems to have more than 1024 GPUs.',
    consequence: 'Samples of further GPUs are left out.',
  },
  'too-many-samples': {
    message: 'The log has more than a million samples.',
    consequence: 'The later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type TelemetryFaults = FaultCounter<keyof typeof FAULTS>;
export const newTelemetryFaults = (): TelemetryFaults => new FaultCounter(FAULTS, 'line');
