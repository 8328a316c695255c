import type { ReaderDescriptor } from '../common/reader.js';
import { EventsStreamReader } from './events-stream-reader.js';
import { looksLikeEvents } from './sniff.js';

/** `cuda_events_rank_<r>.jsonl`, as whyslow and lmms-engine write it. */
export const eventsReader: ReaderDescriptor = {
  id: 'events',
  title: 'an event log (JSON lines with name, step, rank and duration_ms)',
  sniff: looksLikeEvents,
  create: () => new EventsStreamReader(),
};
