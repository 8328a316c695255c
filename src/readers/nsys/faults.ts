import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

const FAULTS = {
  'not-a-database': {
    message: 'The file begins as an SQLite database but cannot be read as one.',
    consequence: 'It was not read: export it again with `nsys export --type sqlite`.',
  },
  'not-nsys': {
    message: 'The SQLite database has no tables of Nsight Systems.',
    consequence: 'It was not read: whyslow reads what `nsys export --type sqlite` writes.',
  },
  'rocm-database': {
    message:
      'it is a database of a ROCm profiler (rocprofv3, RPD), which whyslow does not read; pass a trace that torch.profiler wrote with export_chrome_trace("trace.json.gz")',
    consequence: 'It was not read.',
  },
  'cannot-seek': {
    message: 'An nsys export cannot be read from a pipe or a packed file: unpack it first.',
    consequence: 'It was not read.',
  },
  'cut-database': {
    message: 'The database is shorter than its header says: it was cut or is still being written.',
    consequence: 'Rows on the missing pages are left out.',
  },
  'bad-pages': {
    message: 'Pages of the database are missing, of the wrong kind, or belong to two tables.',
    consequence: 'Their rows are left out.',
  },
  'bad-rows': { message: 'Rows of the database make no sense.', consequence: 'They are left out.' },
  'impossible-time': {
    message: 'Events end before they begin, or have no time.',
    consequence: 'They are left out.',
  },
  'missing-names': {
    message: 'Names of events are not in the table of strings.',
    consequence: 'These events have no name, so no rule knows what they are.',
  },
  'other-processes': {
    message: 'Several processes used a GPU in this recording.',
    consequence:
      'Only the one with most GPU work was analyzed; record one file per rank with `nsys profile -o rank%q{RANK}`.',
  },
  'no-step-ranges': {
    message: 'No NVTX ranges look like steps.',
    consequence:
      'Figures are for the whole recording; put each step into `with torch.cuda.nvtx.range("step")` to divide it.',
  },
} as const satisfies Record<string, ProblemText>;

export type NsysFaults = FaultCounter<keyof typeof FAULTS>;
export const newNsysFaults = (): NsysFaults => new FaultCounter(FAULTS, 'row');
