import type { ProblemText } from '../../base/problem.js';
import { FaultCounter } from '../common/fault-counter.js';

const FAULTS = {
  'not-pytorch': {
    message:
      'It is a Perfetto trace, but not one of the PyTorch profiler: it has no operators, CUDA calls or kernels',
    consequence: 'it was not read; whyslow reads what `export_chrome_trace("x.pftrace")` writes',
  },
  'truncated-trace': {
    message: 'the trace ends inside a packet: it was cut short or is still being written',
    consequence: 'what comes before the cut was read; the rest is missing',
  },
  'broken-stream': {
    message: 'from here on the file is no Perfetto trace',
    consequence: 'what comes before was read; the rest is left out',
  },
  'broken-packet': { message: 'a packet that makes no sense', consequence: 'left out' },
  'bad-compression': {
    message: 'compressed packets that cannot be unpacked',
    consequence: 'their events are left out',
  },
  'open-slices': {
    message: 'events without an end, or ends without an event',
    consequence: 'left out: how long they took is not known',
  },
  'missing-names': {
    message: 'events whose name is not in the file',
    consequence: 'no rule knows what they are',
  },
  'missing-tracks': {
    message: 'events on a thread that the file does not describe',
    consequence: 'kept, each such thread on its own',
  },
  'too-many-sequences': {
    message: 'more than 4096 writers in one trace',
    consequence: 'the names of further ones are missing',
  },
  'missing-categories': {
    message: 'events without a category: an exporter of an unreleased torch wrote the trace',
    consequence: 'operators and steps cannot be found in them; export JSON instead',
  },
  'inferred-copies': {
    message:
      'the trace does not say in which direction copies go; these were inferred from how long their calls took',
    consequence: 'none',
  },
  'untold-copies': {
    message: 'the trace does not say in which direction copies go, and nothing else does for these',
    consequence: 'they count as work of the GPU, even if they are input; export JSON to know',
  },
} as const satisfies Record<string, ProblemText>;

export type PerfettoFaults = FaultCounter<keyof typeof FAULTS>;
export const newPerfettoFaults = (): PerfettoFaults => new FaultCounter(FAULTS, 'byte');
