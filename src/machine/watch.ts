import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineSample, Recording } from '../model/recording.js';
import type { RunCommand } from './command.js';
import type { MachineFiles } from './files.js';
import { findJob, namedJob } from './find-job.js';
import { watchGpus } from './gpu-watch.js';
import { gpusOfJob } from './job-gpus.js';
import { JobSampler, machineFacts } from './job-sampler.js';

export interface WatchOptions {
  readonly pid: number | null;
  readonly seconds: number;
  readonly files: MachineFiles;
  readonly run: RunCommand;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called after every sample with what is known until then. */
  readonly onSample?: (soFar: Recording) => void;
  /** Ends the watch early; what was seen is kept. */
  readonly stopped?: () => boolean;
}

/** Often enough to tell by samples what a thread waits in. One sample of a hundred processes takes about 20 ms. */
const EVERY_MS = 250;
const MANY_THREADS = 500;

/** Watches a job for a few seconds. */
export async function watchMachine(options: WatchOptions): Promise<Recording> {
  const { files, run, env, pid } = options;
  const job = pid === null ? await findJob(files) : namedJob(files, pid);
  const gpus = await watchGpus(run, env);
  const sampler = new JobSampler(files, job.root);
  const samples: MachineSample[] = [];
  const take = (started: number) => samples.push(sampler.take((performance.now() - started) / 1000));
  const machine = { ...machineFacts(files, job.root), pid, others: job.others, hidden: job.hidden };
  const recording = (onGpus: readonly number[] | null): Recording => ({
    machine: { ...machine, gpus: onGpus, noGpu: gpus.problem() },
    processes: sampler.processes,
    samples,
    gpuText: gpus.text(),
  });
  try {
    const started = performance.now();
    take(started);
    const onGpus = gpus.problem()?.startsWith('there is no') ? null : await gpusOfJob(run, sampler.processes);
    const end = started + options.seconds * 1000;
    while (performance.now() < end && !options.stopped?.()) {
      await sleep(Math.min(pauseAfter(samples.at(-1)!), Math.max(1, end - performance.now())));
      take(started);
      options.onSample?.(recording(onGpus));
    }
    await gpus.stop();
    return recording(onGpus);
  } finally {
    await gpus.stop();
  }
}

const pauseAfter = ({ processes }: MachineSample) =>
  processes.reduce((sum, p) => sum + p.threads.length, 0) > MANY_THREADS ? 4 * EVERY_MS : EVERY_MS;
