import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

/** Every fault this reader tolerates, with the text shown for it. */
const FAULTS = {
  'cut-last-line': {
    message: 'The last line is incomplete.',
    consequence: 'That record is left out; the ones before it are complete.',
  },
  'broken-line': {
    message: 'A line is not one JSON object.',
    consequence: 'The line is left out, except for complete records in it.',
  },
  'nul-bytes': {
    message: 'There are NUL bytes between the records, as after a machine crash; counted in bytes.',
    consequence: 'Records that were not yet on disk at the crash are missing.',
  },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'missing-field': {
    message: 'A record lacks name, step, rank or duration_ms.',
    consequence:
      'Without name or step it is left out; without rank it takes the rank of the header; without duration_ms its duration is unknown.',
  },
  'wrong-type': {
    message: 'A field has a value of the wrong type, such as text for a step.',
    consequence: 'A record with a wrong name or step is left out; any other wrong field counts as unknown.',
  },
  'non-finite': {
    message: 'A duration or start is NaN or infinite.',
    consequence: 'It counts as unknown and is left out of sums.',
  },
  'negative-duration': {
    message: 'A duration is negative.',
    consequence: 'It is kept; sums with it are too low.',
  },
  'duplicate-record': {
    message: 'A phase occurs more than once in a step with the same micro-step.',
    consequence:
      'All are kept: with gradient accumulation and no micro-step numbers that is expected, otherwise the phase counts twice.',
  },
  'step-order': {
    message: 'The step of a phase goes back inside one run.',
    consequence:
      'Repeated steps are kept in addition to their first pass; duplicates among them are not counted.',
  },
  'several-runs': {
    message: 'The file holds several runs: another header, another run id, or a step that goes back.',
    consequence: 'The runs are kept apart.',
  },
  'too-many-runs': {
    message: 'The file seems to hold more than 1000 runs.',
    consequence: 'The later ones are joined to one of the first 1000.',
  },
  'mixed-ranks': {
    message: 'The file has records of several ranks; counted in records of the others.',
    consequence: 'Each record counts for the rank it names.',
  },
  'long-name': {
    message: 'A phase name or run id is longer than 4096 characters.',
    consequence: 'It is cut; texts that differ only after that become one.',
  },
  'too-many-names': {
    message: 'There are more than 65535 different phase names, or 16 MB of them.',
    consequence: 'Records with further names are left out.',
  },
  'oversized-header': {
    message: 'A header is larger than 64 KiB or nested deeper than 32 levels.',
    consequence: 'Only its version, run and rank are kept; its clock anchors are lost.',
  },
  'newer-version': {
    message: 'A header has a format version newer than 1.',
    consequence: 'Fields that this version does not know are ignored.',
  },
} as const satisfies Record<string, ProblemText>;

export type EventFaults = FaultCounter<keyof typeof FAULTS>;
export const newEventFaults = (): EventFaults => new FaultCounter(FAULTS, 'line');
