import type { ReaderDescriptor } from '../common/reader.js';
import { PerfettoReader } from './perfetto-reader.js';
import { looksLikePerfetto } from './sniff.js';

/** Perfetto's own format, as `export_chrome_trace("x.pftrace")` of PyTorch writes it. */
export const perfettoReader: ReaderDescriptor = {
  id: 'perfetto',
  title: 'a PyTorch profiler trace in the format of Perfetto (.pftrace)',
  sniff: looksLikePerfetto,
  create: (options) => new PerfettoReader(options),
};
