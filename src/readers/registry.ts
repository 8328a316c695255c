import type { ReaderDescriptor } from './common/reader.js';
import { dmonReader } from './dmon/descriptor.js';
import { eventsReader } from './events/descriptor.js';
import { executionTraceReader } from './execution-trace/descriptor.js';
import { factsReader } from './facts/descriptor.js';
import { flightRecorderReader } from './flight-recorder/descriptor.js';
import { incidentsReader } from './incidents/descriptor.js';
import { kinetoReader } from './kineto/descriptor.js';
import { manifestReader } from './manifest/descriptor.js';
import { memorySnapshotReader } from './memory-snapshot/descriptor.js';
import { ncclRasReader } from './nccl-ras/descriptor.js';
import { nsysReader } from './nsys/descriptor.js';
import { perfettoReader } from './perfetto/descriptor.js';
import { procSamplesReader } from './proc-samples/descriptor.js';
import { pySpyReader } from './py-spy/descriptor.js';
import { torchLogReader } from './torch-log/descriptor.js';
import { torchTraceReader } from './torch-trace/descriptor.js';

/**
 * All formats, in the order in which they are asked: the first whose sniff says yes reads the file. Samples of /proc and
 * manifests come before events because all of them begin with an object that has the key `whyslow`. Traces come after all
 * other JSON: they take any array.
 */
export const READERS: readonly ReaderDescriptor[] = [
  factsReader,
  nsysReader,
  perfettoReader,
  procSamplesReader,
  incidentsReader,
  manifestReader,
  eventsReader,
  flightRecorderReader,
  ncclRasReader,
  memorySnapshotReader,
  executionTraceReader,
  pySpyReader,
  kinetoReader,
  dmonReader,
  torchTraceReader,
  torchLogReader,
];

export function findReader(head: Uint8Array): ReaderDescriptor | null {
  return READERS.find((r) => r.sniff(head)) ?? null;
}
