import { availableParallelism, hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCpuLimit } from './cgroup.js';
import type { RunCommand } from './command.js';
import { sampleCounters } from './counters.js';
import type { MachineFiles } from './files.js';
import { findJob, namedJob } from './find-job.js';
import { watchGpus } from './gpu-watch.js';
import { gpusOfJob } from './job-gpus.js';
import { countCpus } from './proc-text.js';
import { factsOf, processTable, sampleProcess, treeOf } from './processes.js';
import type { MachineSample, ProcessFacts, Recording } from './recording.js';

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

/** Often enough to tell by samples what a thread waits in. One sample of a hundred processes takes some 20 ms. */
const EVERY_MS = 250;
const MANY_THREADS = 500;

/** Watches a job for some seconds. */
export async function watchMachine(options: WatchOptions): Promise<Recording> {
  const { files, run, env, pid } = options;
  const job = pid === null ? await findJob(files) : namedJob(files, pid);
  const root = job.root ?? 'self';
  const gpus = await watchGpus(run, env);
  const facts = new Map<number, ProcessFacts>();
  const samples: MachineSample[] = [];
  const take = (started: number) => {
    const tree = job.root === null ? [] : readTree(files, job.root, facts);
    const processes = tree.flatMap((p) => sampleProcess(files, p) ?? []);
    const seconds = (performance.now() - started) / 1000;
    samples.push({ seconds, processes, counters: sampleCounters(files, root) });
  };
  const status = files.read(`/proc/${root}/status`);
  const machine = {
    host: hostname(),
    cores: countCpus(/^Cpus_allowed_list:\s*(\S+)/m.exec(status ?? '')?.[1]) ?? availableParallelism(),
    quota: readCpuLimit(files, root).quota,
    pid,
    others: job.others,
    hidden: job.hidden,
  };
  const recording = (onGpus: readonly number[] | null): Recording => ({
    machine: { ...machine, gpus: onGpus, noGpu: gpus.problem() },
    processes: [...facts.values()],
    samples,
    gpuText: gpus.text(),
  });
  try {
    const started = performance.now();
    take(started);
    const onGpus = gpus.problem()?.startsWith('there is no')
      ? null
      : await gpusOfJob(run, [...facts.values()]);
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

/** The processes of the job now. New ones are described once. */
function readTree(files: MachineFiles, root: number, facts: Map<number, ProcessFacts>): readonly number[] {
  const table = processTable(files);
  const tree = treeOf(root, table);
  for (const pid of tree) {
    // A process that has just been started may not have loaded torch yet, or opened its GPU.
    const known = facts.get(pid);
    if (known === undefined || !known.torch) facts.set(pid, factsOf(files, pid, table.get(pid)!));
  }
  return tree;
}
