import type { ReaderDescriptor, TraceRead } from '../common/reader.js';
import { PerfettoReader } from './perfetto-reader.js';
import { looksLikePerfetto } from './sniff.js';

/** Perfetto's own format, as `export_chrome_trace("x.pftrace")` of PyTorch writes it. */
export const perfettoReader: ReaderDescriptor<TraceRead> = {
  id: 'perfetto',
  title: 'a PyTorch profiler trace in the format of Perfetto (.pftrace)',
  line: { one: 'Perfetto trace', many: 'Perfetto traces', counts: 'events', isTrace: true },
  refusesEmpty: true,
  sniff: looksLikePerfetto,
  create: (options) => new PerfettoReader(options),
  digest: ({ trace }) => ({ of: 'trace', trace }),
};
