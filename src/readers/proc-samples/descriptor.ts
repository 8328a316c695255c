import type { ProblemText } from '../../base/problem.js';
import type {
  MachineCounters,
  MachineFacts,
  MachineSample,
  ProcessFacts,
  ProcessSample,
  Recording,
  ThreadSample,
} from '../../model/recording.js';
import { type GpuState, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import { jobActivity } from '../../telemetry/processes/job-activity.js';
import type { Content } from '../common/content.js';
import { FaultCounter } from '../common/fault-counter.js';
import { asObject, type JsonObject, parseObject } from '../common/json-object.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { TelemetryStreamReader } from '../common/telemetry/telemetry-stream-reader.js';
import { headText } from '../common/text.js';

/** What `whyslow run` writes to OUT/telemetry/proc-<host>.jsonl, and `whyslow triage --out`. */
export const procSamplesReader: ReaderDescriptor<RecordingRead> = {
  id: 'proc-samples',
  title: 'samples of /proc (OUT/telemetry/proc-<host>.jsonl, `whyslow triage --out`)',
  sniff: (head) => /^\s*\{[^\n]*"kind"\s*:\s*"proc-samples"/.test(headText(head)),
  line: { one: 'recording of /proc', many: 'recordings of /proc', counts: 'samples' },
  create: () => new RecordingReader(),
  digest,
};

function digest({ recording }: RecordingRead): Content {
  const activity = recording && jobActivity(recording);
  const gpus = gpusIn(recording?.gpuText ?? '');
  const evidence = { activity, ...(gpus.length > 0 ? { gpus } : {}) };
  return { of: 'run', events: recording?.samples.length ?? 0, evidence };
}

/** What nvidia-smi printed meanwhile, if the recording has it. */
function gpusIn(text: string): readonly GpuState[] {
  const reader = new TelemetryStreamReader();
  reader.push(Buffer.from(text, 'latin1'));
  return summarizeTelemetry(reader.finish().telemetry);
}

/** Lines of a recording as data. Whatever is missing or of the wrong type is null, empty or zero. */

const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const numbers = (value: unknown): number[] =>
  Array.isArray(value) ? value.flatMap((v) => number(v) ?? []) : [];
const objects = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.map(asObject).filter((v) => v !== null) : [];

const machineOf = (raw: JsonObject): MachineFacts => ({
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

const processOf = (raw: JsonObject): ProcessFacts => ({
  pid: number(raw.pid) ?? 0,
  parent: number(raw.parent) ?? 0,
  command: text(raw.command),
  torch: raw.torch === true,
  torchVersion: textOrNull(raw.torch_version),
  gpu: typeof raw.gpu === 'boolean' ? raw.gpu : null,
  environment: Object.fromEntries(
    Object.entries(asObject(raw.environment) ?? {}).map(([name, value]) => [name, text(value)]),
  ),
});

const sampleOf = (raw: JsonObject): MachineSample => ({
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
});

interface RecordingRead extends ReadModel {
  /** Null: it has no header. */
  readonly recording: Recording | null;
}

/** A day of a job with 8 ranks has about 200,000. About 100 bytes each in memory. */
const MAX_THREADS = 2_000_000;

/** Reads a recording line by line. The last line about a process counts: it may have loaded torch meanwhile. */
export class RecordingReader implements StreamReader<RecordingRead>, PieceSink {
  readonly #faults = newProcSamplesFaults();
  readonly #splitter = new LineSplitter(this);
  readonly #processes = new Map<number, ProcessFacts>();
  readonly #samples: MachineSample[] = [];
  #machine: MachineFacts | null = null;
  #gpuText: string | null = null;
  #threads = 0;

  push(chunk: Uint8Array): void {
    this.#splitter.push(chunk);
  }

  finish(): RecordingRead {
    this.#splitter.finish();
    const recording: Recording | null = this.#machine && {
      machine: this.#machine,
      processes: [...this.#processes.values()],
      samples: this.#samples,
      gpuText: this.#gpuText,
    };
    return { recording, problems: this.#faults.list() };
  }

  piece(bytes: Buffer, start: number, end: number, by: PieceEnd, line: number): void {
    const text = bytes.toString('utf8', start, end);
    if (text.trim() === '') return;
    const raw = parseObject(text);
    if (raw === null && by === 'end') return this.#faults.add('cut-line', line);
    const [machine, process, sample] = [raw?.machine, raw?.process, raw?.sample].map(asObject);
    if (raw?.kind === 'proc-samples' && raw.whyslow === 1) this.#machine ??= machineOf(machine ?? {});
    else if (process) this.#addProcess(processOf(process));
    else if (sample) this.#addSample(sampleOf(sample), line);
    else if (typeof raw?.gpu_text === 'string') this.#gpuText = (this.#gpuText ?? '') + raw.gpu_text;
    else this.#faults.add('odd-line', line);
  }

  nulBytes(count: number, line: number): void {
    this.#faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#faults.add('long-line', line);
  }

  #addProcess(process: ProcessFacts): void {
    this.#processes.set(process.pid, process);
  }

  #addSample(sample: MachineSample, line: number): void {
    this.#threads += 1 + sample.processes.reduce((n, p) => n + p.threads.length, 0);
    if (this.#threads > MAX_THREADS) this.#faults.add('too-many-samples', line);
    else this.#samples.push(sample);
  }
}

const FAULTS = {
  'odd-line': {
    message: 'A line is not one of a recording.',
    consequence: 'The line is left out.',
  },
  'cut-line': { message: 'The last line is incomplete.', consequence: 'It is left out.' },
  'long-line': { message: 'A line is longer than 1 MiB.', consequence: 'The line is left out.' },
  'nul-bytes': {
    message: 'The recording has NUL bytes, as a machine that crashed leaves them.',
    consequence: 'They are left out.',
  },
  'too-many-samples': {
    message: 'There are more samples of threads than the two million that are kept.',
    consequence: 'Later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

type ProcSamplesFaults = FaultCounter<keyof typeof FAULTS>;
const newProcSamplesFaults = (): ProcSamplesFaults => new FaultCounter(FAULTS, 'line');
