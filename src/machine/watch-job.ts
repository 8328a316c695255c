import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../base/group-by.js';
import { InputError } from '../base/input-error.js';
import type { MachineSample, ProcessFacts, Recording } from '../model/recording.js';
import { type CommandResult, filesBelow, type MachineFiles, type RunCommand, runCommand } from './files.js';
import { watchGpus } from './gpu-watch.js';
import { JobSampler, machineFacts } from './job-sampler.js';
import { isPython, type ProcessTable, processTable, treeOf } from './processes.js';
import { findPySpy, NO_PY_SPY, type StackSample, StackSampler } from './stacks.js';

export interface WatchJobOptions
  extends Pick<WatchOptions, 'pid' | 'seconds' | 'env' | 'onSample' | 'stopped'> {
  /** Which processes to take stacks of; null: none. */
  readonly stacksOf: ((recording: Recording) => readonly number[]) | null;
}

export interface WatchedJob {
  readonly recording: Recording;
  readonly stacks: readonly StackSample[];
  /** What could not be done, in sentences. */
  readonly notes: readonly string[];
}

/** After the watch: together some two seconds. */
const ROUNDS = 6;
const ROUND_MS = 300;
const MAX_PROCESSES = 64;

/** Watches a job on this machine. Stacks are taken after it, so that they do not disturb it. */
export async function watchJob(options: WatchJobOptions): Promise<WatchedJob> {
  const files = filesBelow();
  const recording = await watchMachine({ ...options, files, run: runCommand });
  if (options.stacksOf === null) return { recording, stacks: [], notes: [] };
  const alive = new Set(recording.samples.at(-1)?.processes.map((p) => p.pid));
  const pids = options.stacksOf(recording).filter((pid) => alive.has(pid));
  const program = findPySpy(files, pids, options.env);
  if (program === null) return { recording, stacks: [], notes: [NO_PY_SPY] };
  const sampler = new StackSampler(program, runCommand);
  for (let round = 0; round < ROUNDS && !options.stopped?.(); round++) {
    if (round > 0) await sleep(ROUND_MS);
    await sampler.take(pids.slice(0, MAX_PROCESSES));
    // Where the first round fails for all, the others would too.
    if (sampler.samples.length === 0) break;
  }
  const isPartial = pids.length > MAX_PROCESSES;
  return {
    recording,
    stacks: sampler.samples,
    notes: [
      ...(sampler.problem === null ? [] : [sampler.problem]),
      ...(isPartial ? [`stacks were taken of the first ${MAX_PROCESSES} of ${pids.length} processes`] : []),
    ],
  };
}

interface WatchOptions {
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
async function watchMachine(options: WatchOptions): Promise<Recording> {
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

/** A job that trains: the process at its root. */
interface FoundJob {
  /** Null: nothing trains here. */
  readonly root: number | null;
  /** Roots of further jobs. */
  readonly others: readonly number[];
  /** Python processes of other users, which cannot be looked into. */
  readonly hidden: number;
}

/** How long to see which of several jobs works. */
const LOOK_MS = 300;

/** The job of a process that the user named. */
export function namedJob(files: MachineFiles, pid: number): FoundJob {
  const table = processTable(files);
  const stat = table.get(pid);
  if (stat === undefined) throw new InputError(`there is no process ${pid}. \`pgrep -af python\` lists them`);
  if (stat.state === 'Z') throw new InputError(`process ${pid} has ended`);
  // A DataLoader worker is part of the process that started it.
  return { root: stat.name === 'pt_data_worker' ? stat.parent : pid, others: [], hidden: 0 };
}

/** The job with most CPU time of those that have loaded torch. */
export async function findJob(files: MachineFiles): Promise<FoundJob> {
  const table = processTable(files);
  const pythons = [...table.keys()].filter((pid) => isPython(files, pid));
  const maps = new Map(pythons.map((pid) => [pid, files.read(`/proc/${pid}/maps`)]));
  const hidden = [...maps.values()].filter((text) => text === null).length;
  const training = new Set(
    pythons.filter((pid) => /\/(?:libtorch[^/\n]*\.so|libcudart[^/\n]*\.so)/.test(maps.get(pid) ?? '')),
  );
  const jobs = [...groupBy(training, (pid) => rootOf(pid, training, table)).keys()];
  if (jobs.length <= 1) return { root: jobs[0] ?? null, others: [], hidden };
  const before = new Map(jobs.map((root) => [root, cpuOf(root, table)]));
  await sleep(LOOK_MS);
  const later = processTable(files);
  const used = (root: number) => cpuOf(root, later) - before.get(root)!;
  const [root = null, ...others] = jobs.sort((a, b) => used(b) - used(a) || b - a);
  return { root, others, hidden };
}

function rootOf(pid: number, training: ReadonlySet<number>, table: ProcessTable): number {
  let root = pid;
  for (let up = table.get(root)?.parent; up !== undefined && training.has(up); up = table.get(up)?.parent)
    root = up;
  return root;
}

const cpuOf = (root: number, table: ProcessTable) =>
  treeOf(root, table).reduce((sum, pid) => sum + table.get(pid)!.cpu, 0);

const ASK_SECONDS = 10;

/** GPUs of a job as nvidia-smi numbers them. Null: not known, as in most containers, whose process ids are their own. */
async function gpusOfJob(
  run: RunCommand,
  processes: readonly ProcessFacts[],
): Promise<readonly number[] | null> {
  const ask = (query: string) => run('nvidia-smi', [query, '--format=csv,noheader'], ASK_SECONDS);
  const [apps, gpus] = await Promise.all([
    ask('--query-compute-apps=pid,gpu_uuid'),
    ask('--query-gpu=index,uuid'),
  ]);
  const indexOf = new Map(pairsOf(gpus).map(([index, uuid]) => [uuid, Number(index)]));
  const own = new Set(processes.map(({ pid }) => `${pid}`));
  const listed = pairsOf(apps).flatMap(([pid, uuid]) => (own.has(pid) ? (indexOf.get(uuid) ?? []) : []));
  if (listed.length > 0) return sorted(listed);
  // As they were set at the start: a process may have changed its own.
  const named = processes
    .filter(({ gpu }) => gpu)
    .flatMap(({ environment }) => (environment.CUDA_VISIBLE_DEVICES ?? '').split(','))
    .filter((part) => /^\d{1,3}$/.test(part.trim()));
  return named.length > 0 ? sorted(named.map(Number)) : null;
}

const sorted = (indices: readonly number[]) => [...new Set(indices)].sort((a, b) => a - b);

function pairsOf(result: CommandResult | null): (readonly [string, string])[] {
  const lines = result?.code === 0 ? result.stdout.split('\n') : [];
  return lines.flatMap((line) => {
    const [first, second] = line.split(',').map((cell) => cell.trim());
    return first && second ? [[first, second] as const] : [];
  });
}
