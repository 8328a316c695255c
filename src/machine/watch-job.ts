import { setTimeout as sleep } from 'node:timers/promises';
import type { Recording } from '../model/recording.js';
import { runCommand } from './command.js';
import { filesBelow } from './files.js';
import { findPySpy, NO_PY_SPY, type StackSample, StackSampler } from './stacks.js';
import { type WatchOptions, watchMachine } from './watch.js';

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
