import type { ProblemText } from '../../base/problem.js';
import type { MachineFacts, MachineSample, ProcessFacts, Recording } from '../../model/recording.js';
import { type GpuState, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import { jobActivity } from '../../telemetry/processes/job-activity.js';
import type { Content } from '../common/content.js';
import { FaultCounter } from '../common/fault-counter.js';
import { asObject, parseObject } from '../common/json-object.js';
import { LineSplitter, type PieceEnd, type PieceSink } from '../common/line-splitter.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { TelemetryStreamReader } from '../common/telemetry/telemetry-stream-reader.js';
import { headText } from '../common/text.js';
import { machineOf, processOf, sampleOf } from './recording-line.js';

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

interface RecordingRead extends ReadModel {
  /** Null: it has no header. */
  readonly recording: Recording | null;
}

/** A day of a job with 8 ranks has about 200,000. About 100 bytes each in memory, and four times that for a process. */
const MAX_THREADS = 2_000_000;
const PER_PROCESS = 4;
/** Workers that come and go: 16 of 8 ranks in 1,000 epochs are 128,000. */
const MAX_PROCESSES = 200_000;
/** Characters of all commands and environments, and of what nvidia-smi printed. */
const MAX_TEXTS = 64 << 20;

/** Reads a recording line by line. The last line about a process counts: it may have loaded torch meanwhile. */
export class RecordingReader implements StreamReader<RecordingRead>, PieceSink {
  readonly #faults = newProcSamplesFaults();
  readonly #splitter = new LineSplitter(this);
  readonly #processes = new Map<number, ProcessFacts>();
  readonly #samples: MachineSample[] = [];
  #machine: MachineFacts | null = null;
  #gpuText: string | null = null;
  #threads = 0;
  #texts = 0;

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
    else if (process) this.#addProcess(processOf(process), line);
    else if (sample) this.#addSample(sampleOf(sample), line);
    else if (typeof raw?.gpu_text === 'string') this.#addGpuText(raw.gpu_text, line);
    else this.#faults.add('odd-line', line);
  }

  nulBytes(count: number, line: number): void {
    this.#faults.add('nul-bytes', line, count);
  }

  longLine(line: number): void {
    this.#faults.add('long-line', line);
  }

  #addProcess(process: ProcessFacts, line: number): void {
    const { pid, command, environment } = process;
    const texts = [command, ...Object.values(environment)];
    const isRoom = this.#processes.has(pid) || this.#processes.size < MAX_PROCESSES;
    if (isRoom && this.#affords(texts.reduce((sum, t) => sum + t.length, 0)))
      this.#processes.set(pid, process);
    else this.#faults.add('too-many-samples', line);
  }

  #addGpuText(text: string, line: number): void {
    if (this.#affords(text.length)) this.#gpuText = (this.#gpuText ?? '') + text;
    else this.#faults.add('too-many-samples', line);
  }

  #affords(characters: number): boolean {
    this.#texts += characters;
    return this.#texts <= MAX_TEXTS;
  }

  #addSample(sample: MachineSample, line: number): void {
    this.#threads += 1 + sample.processes.reduce((n, p) => n + PER_PROCESS + p.threads.length, 0);
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
    message:
      'There are more samples than the two million of threads that are kept, or more processes or longer texts than a job has.',
    consequence: 'Later ones are left out.',
  },
} as const satisfies Record<string, ProblemText>;

type ProcSamplesFaults = FaultCounter<keyof typeof FAULTS>;
const newProcSamplesFaults = (): ProcSamplesFaults => new FaultCounter(FAULTS, 'line');
