import type { ReaderDescriptor, TraceRead } from '../common/reader.js';
import { notSeekable, readExport } from './read-export.js';
import { SQLITE_MAGIC } from './sqlite-pages.js';

/** What `nsys export --type sqlite` writes. Which tables it has is at many places of the file: the reader checks them. */
export const nsysReader: ReaderDescriptor<TraceRead> = {
  id: 'nsys',
  title: 'an Nsight Systems recording (`nsys export --type sqlite`)',
  sniff: (head) => Buffer.from(head.subarray(0, SQLITE_MAGIC.length)).equals(SQLITE_MAGIC),
  line: { one: 'nsys recording', many: 'nsys recordings', counts: 'events', isTrace: true },
  refusesEmpty: true,
  create: () => ({ push() {}, finish: notSeekable }),
  readAt: readExport,
  digest: ({ trace }) => ({ of: 'trace', trace }),
};
