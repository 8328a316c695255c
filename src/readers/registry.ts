import { eventsReader } from './events/descriptor.js';
import { kinetoReader } from './kineto/descriptor.js';
import { operationsReader } from './operations/descriptor.js';
import type { ReaderDescriptor } from './reader.js';

/** All formats, asked in this order; the first whose sniff says yes reads the file. */
export const READERS: readonly ReaderDescriptor[] = [operationsReader, eventsReader, kinetoReader];

export function findReader(head: Uint8Array): ReaderDescriptor | null {
  return READERS.find((r) => r.sniff(head)) ?? null;
}
