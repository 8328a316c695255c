import { bytes, fixed64, varint } from './wire.js';

/** Keys of the fields of Perfetto's schema that are read (protos/perfetto/trace/ in its repository). */

export const TRACE = { packet: bytes(1) } as const;

export const PACKET = {
  timestamp: varint(8),
  sequence: varint(10),
  trackEvent: bytes(11),
  internedData: bytes(12),
  sequenceFlags: varint(13),
  stateCleared: varint(41),
  compressed: bytes(50),
  gpuCounters: bytes(52),
  renderStage: bytes(53),
  defaults: bytes(59),
  trackDescriptor: bytes(60),
} as const;

/** Bit of `sequenceFlags`: what was interned on this sequence counts no more. */
export const STATE_CLEARED = 1;

/** TracePacketDefaults, and the defaults of track events in them. */
export const DEFAULTS = { trackEvent: bytes(11), trackUuid: varint(11) } as const;

export const TRACK_EVENT = {
  categoryId: varint(3),
  annotation: bytes(4),
  type: varint(9),
  nameId: varint(10),
  trackUuid: varint(11),
  category: bytes(22),
  name: bytes(23),
  oldFlow: varint(36),
  oldFlowEnd: varint(42),
  flow: fixed64(47),
  flowEnd: fixed64(48),
} as const;

export const EVENT_TYPE = { begin: 1, end: 2, instant: 3 } as const;

export const ANNOTATION = {
  nameId: varint(1),
  bool: varint(2),
  unsigned: varint(3),
  int: varint(4),
  double: fixed64(5),
  text: bytes(6),
  json: bytes(9),
  name: bytes(10),
  entry: bytes(11),
  element: bytes(12),
  textId: varint(17),
} as const;

/** TrackDescriptor, and the process and thread in it. */
export const TRACK = {
  uuid: varint(1),
  process: bytes(3),
  thread: bytes(4),
} as const;
export const PROCESS = { pid: varint(1), name: bytes(6) } as const;
export const THREAD = { pid: varint(1), tid: varint(2), name: bytes(5) } as const;

/** InternedData. The last two are extensions for GPUs. */
export const INTERNED = {
  categories: bytes(1),
  names: bytes(2),
  annotationNames: bytes(3),
  specifications: bytes(24),
  annotationTexts: bytes(29),
  counters: bytes(47),
  kernels: bytes(1000),
  argumentNames: bytes(1001),
} as const;
/** All entries have the first two; kernels have a readable name besides. */
export const ENTRY = { id: varint(1), text: bytes(2), demangled: bytes(3) } as const;

/** GpuRenderStageEvent. */
export const STAGE = {
  duration: varint(2),
  extra: bytes(6),
  gpu: varint(11),
  queue: varint(13),
  stage: varint(14),
  name: bytes(17),
  kernel: varint(19),
  nameId: varint(20),
  launch: bytes(21),
} as const;
export const EXTRA = { name: bytes(1), value: bytes(2) } as const;
export const LAUNCH = { grid: bytes(1), block: bytes(2), argument: bytes(3) } as const;
export const SIZE = { x: varint(1), y: varint(2), z: varint(3) } as const;
export const LAUNCH_ARGUMENT = {
  nameId: varint(1),
  name: bytes(2),
  int: varint(3),
  unsigned: varint(4),
} as const;

/** GpuCounterEvent, and the interned descriptor that names its counters. */
export const COUNTERS = { counter: bytes(2), descriptor: varint(4) } as const;
export const COUNTER = { id: varint(1), int: varint(2), double: fixed64(3) } as const;
export const COUNTER_DESCRIPTOR = { id: varint(1), specs: bytes(2), gpu: varint(3) } as const;
export const COUNTER_SPECS = { spec: bytes(1) } as const;
export const COUNTER_SPEC = { id: varint(1), name: bytes(2) } as const;
