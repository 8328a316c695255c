import type { ReaderDescriptor } from '../common/reader.js';
import { headText } from '../common/text.js';
import { type FactsRead, FactsStreamReader } from './facts-stream-reader.js';

/** What `whyslow facts` writes. */
export const factsReader: ReaderDescriptor<FactsRead> = {
  id: 'facts',
  title: 'facts of a trace (whyslow facts)',
  sniff: (head) => headText(head).startsWith('{"whyslow_facts":'),
  line: { one: 'facts file', many: 'facts files', counts: 'events' },
  refusesEmpty: true,
  create: ({ light = false }) => new FactsStreamReader(light),
  digest: ({ record }) => ({ of: 'facts', record }),
};
