import type { ReaderDescriptor, TraceRead } from '../common/reader.js';
import { FieldSize, NO_FIELD, NOT_KNOWN_YET } from './field-size.js';
import { PACKET, TRACE } from './fields.js';
import { PerfettoReader } from './perfetto-reader.js';
import { bytes, MessageReader, varint } from './wire.js';

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

/** So many packets must make sense. A text that begins with an empty line looks like a packet for at most a few bytes. */
const PACKETS = 4;
const MAX_PACKET = 256 << 20;
/** Fields that traces of all kinds have: of this one, of Android and of Chrome. */
const KNOWN: ReadonlySet<number> = new Set([
  ...Object.values(PACKET),
  // ftrace, the process tree, clocks, the configuration, marks of the service, statistics, the uuid.
  ...[1, 2, 6, 33, 35, 36, 43, 44, 45, 69, 89].map(bytes),
  // Clocks, the user and the process that wrote it.
  ...[3, 42, 58, 79].map(varint),
]);

/** A Trace message: nothing but packets, each with fields that packets have. */
function looksLikePerfetto(head: Uint8Array): boolean {
  const size = new FieldSize(MAX_PACKET);
  const field = new MessageReader();
  let at = 0;
  for (let i = 0; i < PACKETS && at < head.length; i++) {
    const length = size.at(head, at, head.length);
    if (length === NO_FIELD || head[at] !== TRACE.packet) return false;
    if (length === NOT_KNOWN_YET) return i > 0;
    if (at + length > head.length) return isCutPacket(head, at) || i > 1;
    field.open(head, at, at + length).next();
    if (!isPacket(head, field.from, field.to)) return false;
    at += length;
  }
  return at > 0;
}

function isPacket(head: Uint8Array, from: number, to: number): boolean {
  const packet = new MessageReader().open(head, from, to);
  let known = 0;
  while (packet.next()) known += Number(KNOWN.has(packet.key));
  return known > 0 && !packet.isBroken;
}

/** A file that ends inside its first packets. One field may look right in any text. */
function isCutPacket(head: Uint8Array, at: number): boolean {
  const size = new FieldSize(MAX_PACKET);
  let from = at + 1;
  while (head[from]! >= 0x80) from++;
  from++;
  const field = new MessageReader();
  for (let known = 0; from < head.length; ) {
    const length = size.at(head, from, head.length);
    if (length === NO_FIELD) return false;
    if (length === NOT_KNOWN_YET || from + length > head.length) {
      // So long a field: the names of a whole trace.
      field.open(head, from, head.length).next();
      return known > 1 || (head.length >= LONG && KNOWN.has(field.key));
    }
    field.open(head, from, from + length).next();
    known += Number(KNOWN.has(field.key));
    from += length;
  }
  return false;
}
const LONG = 1 << 14;
