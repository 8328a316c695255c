import { withoutSecrets } from '../../base/secrets.js';
import type {
  MachineCounters,
  MachineFacts,
  MachineSample,
  ProcessFacts,
  ProcessSample,
  ThreadSample,
} from '../../model/recording.js';
import { asObject, type JsonObject } from '../common/json-object.js';
import { clipped } from '../common/text.js';

/** Lines of a recording as data. Whatever is missing or of the wrong type is null, empty or zero. */

const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
/** Longest command line, and most variables, that are kept: what `whyslow` records has a few hundred characters and five. */
const MAX_LENGTH = 4096;
const MAX_VARIABLES = 64;

const text = (value: unknown): string => (typeof value === 'string' ? clipped(value, MAX_LENGTH) : '');
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? text(value) : null);
const numbers = (value: unknown): number[] =>
  Array.isArray(value) ? value.flatMap((v) => number(v) ?? []) : [];
const objects = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.map(asObject).filter((v) => v !== null) : [];

export const machineOf = (raw: JsonObject): MachineFacts => ({
  host: text(raw.host),
  startedNs: number(raw.started_ns),
  cores: number(raw.cores) || 1,
  quota: number(raw.quota),
  pid: number(raw.pid),
  gpus: Array.isArray(raw.gpus) ? numbers(raw.gpus) : null,
  noGpu: textOrNull(raw.no_gpu),
  others: numbers(raw.others),
  hidden: number(raw.hidden) ?? 0,
});

export const processOf = (raw: JsonObject): ProcessFacts => ({
  pid: number(raw.pid) ?? 0,
  parent: number(raw.parent) ?? 0,
  command: withoutSecrets(text(raw.command)),
  torch: raw.torch === true,
  torchVersion: textOrNull(raw.torch_version),
  gpu: typeof raw.gpu === 'boolean' ? raw.gpu : null,
  environment: Object.fromEntries(
    Object.entries(asObject(raw.environment) ?? {})
      .slice(0, MAX_VARIABLES)
      .map(([name, value]) => [clipped(name, MAX_LENGTH), text(value)]),
  ),
});

export const sampleOf = (raw: JsonObject): MachineSample => ({
  seconds: number(raw.seconds) ?? 0,
  processes: objects(raw.processes).map(processSampleOf),
  counters: countersOf(asObject(raw.counters) ?? {}),
});

const processSampleOf = (raw: JsonObject): ProcessSample => ({
  pid: number(raw.pid) ?? 0,
  readChars: number(raw.read_chars),
  readBytes: number(raw.read_bytes),
  majorFaults: number(raw.major_faults) ?? 0,
  swappedBytes: number(raw.swapped_bytes),
  ...(raw.resident_bytes === undefined ? {} : { residentBytes: number(raw.resident_bytes) }),
  voluntarySwitches: number(raw.voluntary_switches),
  involuntarySwitches: number(raw.involuntary_switches),
  waitsIn: textOrNull(raw.waits_in),
  threads: objects(raw.threads).map(threadOf),
});

const threadOf = (raw: JsonObject): ThreadSample => ({
  id: number(raw.id) ?? 0,
  name: text(raw.name),
  state: text(raw.state),
  cpu: number(raw.cpu) ?? 0,
  delayed: number(raw.delayed),
});

const countersOf = (raw: JsonObject): MachineCounters => ({
  runnable: number(raw.runnable),
  cpuPressure: number(raw.cpu_pressure),
  ioPressure: number(raw.io_pressure),
  memoryPressure: number(raw.memory_pressure),
  throttled: number(raw.throttled),
  periods: number(raw.periods),
  throttledPeriods: number(raw.throttled_periods),
  memoryAvailable: number(raw.memory_available),
  memoryTotal: number(raw.memory_total),
  swappedIn: number(raw.swapped_in),
  received: number(raw.received),
  cpuUsed: number(raw.cpu_used),
  cpuStolen: number(raw.cpu_stolen),
});
