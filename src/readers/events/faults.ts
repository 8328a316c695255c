import type { ProblemText } from '../../base/problem.js';
import { LineFaults } from '../common/line-faults.js';

/** Every fault this reader tolerates, with the words shown for it. */
const FAULTS = {
  'cut-last-line': {
    message: 'The last line stops before its end.',
    consequence: 'That record is left out; the ones before it are complete.',
  },
  'broken-line': {
    message: 'A line is not one JSON object.',
    consequence: 'The line is left out, save for whole records stuck to a torn one, which are kept.',
  },
  'nul-bytes': {
    message:
      'There are NUL bytes between the records, as a crash of the machine leaves them; counted in bytes.',
    consequence: 'Records that were not yet on disk at the crash are missing.',
  },
  'long-line': {
    message: 'A line is longer than 1 MiB.',
    consequence: 'The line is left out.',
  },
  'missing-field': {
    message: 'A record lacks name, step, rank or duration_ms.',
    consequence:
      'Without name or step it is left out; without rank it takes the rank of the header; without duration_ms it is kept with an unknown duration.',
  },
  'wrong-type': {
    message: 'A field holds something it cannot hold, such as text for a step.',
    consequence:
      'A record whose name or step is wrong is left out; any other wrong field is taken as unknown.',
  },
  'non-finite': {
    message: 'A duration or start is NaN or infinite.',
    consequence: 'It is kept as unknown and left out of sums.',
  },
  'negative-duration': {
    message: 'A duration is below zero.',
    consequence: 'It is kept as it is; sums with it are too low.',
  },
  'duplicate-record': {
    message: 'A phase comes more than once in a step with the same micro-step.',
    consequence:
      'All are kept: with gradient accumulation and no micro numbers that is expected, otherwise the phase counts twice.',
  },
  'step-order': {
    message: 'The step of a phase goes back inside one run.',
    consequence:
      'Steps trained again are kept beside their first pass; duplicates among them are not counted.',
  },
  'several-runs': {
    message: 'The file holds more than one run: a header, another run id or a step going back.',
    consequence: 'The runs are kept apart.',
  },
  'too-many-runs': {
    message: 'The file seems to hold more than 1000 runs.',
    consequence: 'The later ones are joined to one of the first 1000.',
  },
  'mixed-ranks': {
    message: 'Records of another rank than the first are in the file; counted in records.',
    consequence: 'Each record counts for the rank it names.',
  },
  'long-name': {
    message: 'A phase name or run id is longer than 4096 characters.',
    consequence: 'It is cut; texts that differ only behind that become one.',
  },
  'too-many-names': {
    message: 'There are more than 65535 different phase names.',
    consequence: 'Records of the names beyond are left out.',
  },
  'oversized-header': {
    message: 'A header is larger than 64 KiB or nested deeper than 32 levels.',
    consequence: 'Only its version, run and rank are kept; clock anchors in it are lost.',
  },
  'newer-version': {
    message: 'A header names a format version newer than 1.',
    consequence: 'Fields this version does not know are ignored.',
  },
} as const satisfies Record<string, ProblemText>;

export type FaultCode = keyof typeof FAULTS;

export class FaultCounter extends LineFaults<FaultCode> {
  constructor() {
    super(FAULTS);
  }
}
