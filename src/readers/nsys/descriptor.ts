import type { ReaderDescriptor } from '../common/reader.js';
import { notSeekable, readExport } from './read-export.js';
import { SQLITE_MAGIC } from './sqlite-pages.js';

/** What `nsys export --type sqlite` writes. Which tables it has is at many places of the file: the reader checks them. */
export const nsysReader: ReaderDescriptor = {
  id: 'nsys',
  title: 'an Nsight Systems recording (`nsys export --type sqlite`)',
  sniff: (head) => Buffer.from(head.subarray(0, SQLITE_MAGIC.length)).equals(SQLITE_MAGIC),
  create: () => ({ push() {}, finish: () => ({ kind: 'nsys', ...notSeekable() }) }),
  readAt: async (file) => {
    return { kind: 'nsys', ...(await readExport(file)) };
  },
};
