import { setTimeout as sleep } from 'node:timers/promises';
import { filesBelow } from '../machine/files.js';
import { JobSampler, machineFacts } from '../machine/job-sampler.js';
import type { MachineSample, ProcessSample } from '../model/recording.js';
import { newTelemetryFile } from './telemetry-file.js';
import { type Limits, ThinnedRecording } from './thinned-recording.js';

export interface RecordOptions {
  /** The process at the root of the job. */
  readonly pid: number;
  /** Where to write proc-<host>.jsonl. */
  readonly folder: string;
  /** Between samples, at first. */
  readonly everyMs?: number;
  readonly limits?: Limits;
  /** Ends the recording. */
  readonly stopped: AbortSignal;
}

const EVERY_MS = 500;
/** Of one core. A sample of a large job takes tens of milliseconds: then they come less often. */
const MOST_CPU = 0.005;
/** Seconds of CPU time that are free: the first samples of a short job are worth it. */
const FREE_CPU = 0.5;
/** Threads that used less of a core since the start are not written, but for the main thread and torch's own. */
const LEAST_USE = 0.002;

/** Samples a job until it ends or `stopped`. Whatever fails, a full disk for one, ends the recording and nothing else. */
export async function recordProcesses({
  pid,
  folder,
  everyMs,
  limits,
  stopped,
}: RecordOptions): Promise<void> {
  const files = filesBelow();
  const sampler = new JobSampler(files, pid);
  const machine = { ...machineFacts(files, pid), pid, gpus: null, noGpu: OTHER_FILE, others: [], hidden: 0 };
  let recording: ThinnedRecording | null = null;
  const started = performance.now();
  let spent = 0;
  while (!stopped.aborted) {
    const before = cpuSeconds();
    const sample = sampler.take((performance.now() - started) / 1000);
    if (sample.processes.length === 0) return;
    // The file begins with the training. A job that does not train leaves none.
    if (sampler.processes.some((p) => p.torch))
      recording ??= new ThinnedRecording(await newTelemetryFile(folder, 'proc', 'jsonl'), machine, limits);
    recording?.add(sampler.processes, withoutIdleThreads(sample));
    const earned = (performance.now() - started) / 1000;
    spent += cpuSeconds() - before;
    const owed = (spent - FREE_CPU) / MOST_CPU - earned;
    const pause = Math.max((everyMs ?? EVERY_MS) * (recording?.stretch ?? 1), 1000 * owed);
    await sleep(pause, null, { signal: stopped }).catch(() => {});
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const OTHER_FILE = '`whyslow run` writes what nvidia-smi says to a file of its own';

function withoutIdleThreads({ processes, ...rest }: MachineSample): MachineSample {
  const least = LEAST_USE * rest.seconds;
  const counts = (t: ProcessSample['threads'][number], i: number) =>
    i === 0 || t.name.startsWith('pt_') || t.cpu + (t.delayed ?? 0) > least;
  return { ...rest, processes: processes.map((p) => ({ ...p, threads: p.threads.filter(counts) })) };
}
