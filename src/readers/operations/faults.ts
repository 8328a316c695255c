import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

/** Every fault this reader tolerates, with the text shown for it. */
const FAULTS = {
  'too-large': {
    message: 'The Parquet file is larger than 256 MB.',
    consequence: 'It was not read.',
  },
  'no-footer': {
    message: 'The Parquet file has no readable footer: it was cut short, encrypted or damaged.',
    consequence: 'Nothing in it can be read.',
  },
  'missing-columns': {
    message: 'The Parquet file lacks a column of operation tables: step, optype, start_ts or duration.',
    consequence: 'It was not read.',
  },
  'wrong-column-type': {
    message: 'A column has the wrong type, such as text for a step.',
    consequence: 'It counts as missing.',
  },
  'broken-column': {
    message: 'Values of a column cannot be decoded; counted once per row group.',
    consequence: 'Rows without a required column are left out; other columns count as unknown.',
  },
  'unsupported-column': {
    message: 'A column has a compression or encoding that is not supported; counted once per row group.',
    consequence: 'Rows without a required column are left out; other columns count as unknown.',
  },
  'too-many-rows': {
    message: 'The file promises more than 16 million rows, or more than it has bits.',
    consequence: 'Further row groups are left out.',
  },
  'missing-value': {
    message: 'A row has no step or optype, or its worker is not a number.',
    consequence: 'The row is left out.',
  },
  'missing-time': {
    message: 'An operation has no finite start or duration.',
    consequence: 'It is kept with an unknown time; its step cannot be replayed.',
  },
  'negative-duration': {
    message: 'A duration is negative.',
    consequence: 'It is kept; analyzes use zero.',
  },
  'whole-times': {
    message: 'Durations are stored as whole numbers without a unit.',
    consequence:
      'They are read as seconds. If they are in another unit, times are wrong but ratios are right.',
  },
  'too-many-kinds': {
    message: 'There are more than 65535 different kinds of operations.',
    consequence: 'Operations of further kinds are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type OperationFaults = FaultCounter<keyof typeof FAULTS>;
export const newOperationFaults = (): OperationFaults => new FaultCounter(FAULTS, 'row');
