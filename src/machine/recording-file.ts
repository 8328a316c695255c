import { InputError } from '../base/input-error.js';
import type {
  MachineCounters,
  MachineFacts,
  MachineSample,
  ProcessFacts,
  ProcessSample,
  Recording,
  ThreadSample,
} from './recording.js';

/**
 * A recording as JSON lines: `{"whyslow":1,"kind":"proc-samples","machine":…}`, then `{"process":…}` for each process,
 * `{"sample":…}` in order of time, `{"gpu_text":…}`. Names are those of recording.ts in snake_case (docs/usage.md).
 */
export function recordingLines(recording: Recording): string[] {
  return [
    { whyslow: 1, kind: 'proc-samples', machine: recording.machine },
    ...recording.processes.map((process) => ({ process })),
    ...recording.samples.map((sample) => ({ sample })),
    ...(recording.gpuText === null ? [] : [{ gpuText: recording.gpuText }]),
  ].map((line) => JSON.stringify(inSnakeCase(line)));
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  // Microseconds suffice.
  if (typeof value === 'number') return Math.round(value * 1e6) / 1e6;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name === 'environment' ? [name, inner] : [snake(name), inSnakeCase(inner)],
    ),
  );
}

export interface ReadRecording {
  readonly recording: Recording;
  /** Lines that are not valid: a recording that was cut, or edited. */
  readonly skipped: number;
}

/** Reads what `recordingLines` wrote, as far as it is sound. */
export function parseRecording(text: string): ReadRecording {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const header = parsed(lines[0] ?? '');
  if (header?.whyslow !== 1 || header.kind !== 'proc-samples')
    throw new InputError(
      'this is not a recording of `whyslow triage --out`: its first line is not the header',
    );
  const processes: ProcessFacts[] = [];
  const samples: MachineSample[] = [];
  let gpuText: string | null = null;
  let skipped = 0;
  for (const line of lines.slice(1)) {
    const raw = parsed(line);
    if (isRaw(raw?.process)) processes.push(processOf(raw.process));
    else if (isRaw(raw?.sample)) samples.push(sampleOf(raw.sample));
    else if (typeof raw?.gpu_text === 'string') gpuText = (gpuText ?? '') + raw.gpu_text;
    else skipped++;
  }
  const machine = machineOf(isRaw(header.machine) ? header.machine : {});
  return { recording: { machine, processes, samples, gpuText }, skipped };
}

type Raw = Readonly<Record<string, unknown>>;
const isRaw = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(line: string): Raw | null {
  try {
    const value: unknown = JSON.parse(line);
    return isRaw(value) ? value : null;
  } catch {
    return null;
  }
}

const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const numbers = (value: unknown): number[] =>
  Array.isArray(value) ? value.flatMap((v) => number(v) ?? []) : [];
const objects = (value: unknown): Raw[] => (Array.isArray(value) ? value.filter(isRaw) : []);

const machineOf = (raw: Raw): MachineFacts => ({
  host: text(raw.host),
  cores: number(raw.cores) || 1,
  quota: number(raw.quota),
  pid: number(raw.pid),
  gpus: Array.isArray(raw.gpus) ? numbers(raw.gpus) : null,
  noGpu: textOrNull(raw.no_gpu),
  others: numbers(raw.others),
  hidden: number(raw.hidden) ?? 0,
});

const processOf = (raw: Raw): ProcessFacts => ({
  pid: number(raw.pid) ?? 0,
  parent: number(raw.parent) ?? 0,
  command: text(raw.command),
  torch: raw.torch === true,
  torchVersion: textOrNull(raw.torch_version),
  gpu: typeof raw.gpu === 'boolean' ? raw.gpu : null,
  environment: isRaw(raw.environment)
    ? Object.fromEntries(Object.entries(raw.environment).map(([name, value]) => [name, text(value)]))
    : {},
});

const sampleOf = (raw: Raw): MachineSample => ({
  seconds: number(raw.seconds) ?? 0,
  processes: objects(raw.processes).map(processSampleOf),
  counters: countersOf(isRaw(raw.counters) ? raw.counters : {}),
});

const processSampleOf = (raw: Raw): ProcessSample => ({
  pid: number(raw.pid) ?? 0,
  readChars: number(raw.read_chars),
  readBytes: number(raw.read_bytes),
  majorFaults: number(raw.major_faults) ?? 0,
  swappedBytes: number(raw.swapped_bytes),
  voluntarySwitches: number(raw.voluntary_switches),
  involuntarySwitches: number(raw.involuntary_switches),
  waitsIn: textOrNull(raw.waits_in),
  threads: objects(raw.threads).map(threadOf),
});

const threadOf = (raw: Raw): ThreadSample => ({
  id: number(raw.id) ?? 0,
  name: text(raw.name),
  state: text(raw.state),
  cpu: number(raw.cpu) ?? 0,
  delayed: number(raw.delayed),
});

const countersOf = (raw: Raw): MachineCounters => ({
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
});
