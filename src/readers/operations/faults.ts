import type { Position, Problem, ProblemText } from '../../base/problem.js';

/** Every fault this reader tolerates, with the words shown for it. */
const FAULTS = {
  'too-large': {
    message: 'The Parquet file is larger than 256 MB.',
    consequence: 'It is not read.',
  },
  'no-footer': {
    message: 'The Parquet file has no readable footer at its end: it was cut, encrypted or damaged.',
    consequence: 'Nothing of it can be read.',
  },
  'missing-columns': {
    message: 'The Parquet file lacks a column of operation tables: step, optype, start_ts or duration.',
    consequence: 'It is not read as one.',
  },
  'wrong-column-type': {
    message: 'A column is not of the type that it should have, such as text for a step.',
    consequence: 'It is taken as missing.',
  },
  'broken-column': {
    message: 'Values of a column cannot be decoded; counted once a row group.',
    consequence: 'Without a needed column the rows are left out; others are taken as unknown.',
  },
  'unsupported-column': {
    message: 'A column is compressed or encoded in a way that is not supported; counted once a row group.',
    consequence: 'Without a needed column the rows are left out; others are taken as unknown.',
  },
  'too-many-rows': {
    message: 'The file promises more than 16 million rows, or more than it has bits.',
    consequence: 'The row groups beyond are left out.',
  },
  'missing-value': {
    message: 'A row has no step or optype, or a worker that is no number.',
    consequence: 'The row is left out.',
  },
  'missing-time': {
    message: 'An operation has no finite start or duration.',
    consequence: 'It is kept with an unknown time; its step cannot be played.',
  },
  'negative-duration': {
    message: 'A duration is below zero.',
    consequence: 'It is kept as it is; analyses take it as zero.',
  },
  'whole-times': {
    message: 'Durations are stored as whole numbers without a unit.',
    consequence: 'They are taken as seconds; in another unit times are wrong, and ratios are not.',
  },
  'too-many-kinds': {
    message: 'There are more than 65535 different kinds of operations.',
    consequence: 'Operations of the kinds beyond are left out.',
  },
} as const satisfies Record<string, ProblemText>;

export type FaultCode = keyof typeof FAULTS;

/** Counts faults by code with the place of the first. */
export class FaultCounter {
  readonly #seen = new Map<FaultCode, { count: number; readonly first: Position | null }>();

  /** `row`: of the file; null where a row makes no sense. */
  add(code: FaultCode, row: number | null, count = 1): void {
    if (count <= 0) return;
    const seen = this.#seen.get(code);
    if (seen) seen.count += count;
    else this.#seen.set(code, { count, first: row === null ? null : { unit: 'row', at: row } });
  }

  list(): readonly Problem[] {
    return [...this.#seen].map(([code, { count, first }]) => ({ code, count, ...FAULTS[code], first }));
  }
}
