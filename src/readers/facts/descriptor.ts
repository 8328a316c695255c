import type { ReaderDescriptor } from '../common/reader.js';
import { headText } from '../common/text.js';
import { FactsStreamReader } from './facts-stream-reader.js';

/** What `whyslow facts` writes. */
export const factsReader: ReaderDescriptor = {
  id: 'facts',
  title: 'facts of a trace (whyslow facts)',
  sniff: (head) => headText(head).startsWith('{"whyslow_facts":'),
  create: ({ light = false }) => new FactsStreamReader(light),
};
