import { randomBytes } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ownModes } from '../base/make-folders.js';
import type { Environment } from './environment.js';

/**
 * An id that is the same on all nodes of a job, by launcher. A Slurm job may run several commands one after the other; its
 * steps tell them apart. Without a step id there is only one launch.
 */
const SHARED: readonly ((env: Environment) => string | null)[] = [
  (env) => env.WHYSLOW_RUN || null,
  (env) => (env.SLURM_JOB_ID && env.SLURM_STEP_ID ? `slurm-${env.SLURM_JOB_ID}-${env.SLURM_STEP_ID}` : null),
  (env) => named('ray', env.RAY_JOB_ID),
  (env) => named('elastic', env.TORCHELASTIC_RUN_ID),
  (env) => named('mpi', env.OMPI_MCA_ess_base_jobid ?? env.PMIX_NAMESPACE),
];

/** torchrun's default id is the word `none`. */
const named = (kind: string, id: string | undefined) => (id && id !== 'none' ? `${kind}-${id}` : null);

/** The id that all launches of one job share; null where each launch is a run of its own. */
export function sharedRunId(env: Environment): string | null {
  for (const find of SHARED) {
    const id = find(env);
    if (id) return fileNameOf(id);
  }
  return null;
}

export const newRunId = () => randomBytes(6).toString('hex');

/**
 * When torchrun restarts a job, its runs are x, x.1, x.2. Several trainings under one name, one after the other or at once, are
 * x, x+1a2b3c4d, … (run_name.py).
 */
export const isRunOf = (id: string, run: string) =>
  id === run || id.startsWith(`${run}.`) || id.startsWith(`${run}+`);

/** A text as part of a file name. */
export const fileNameOf = (text: string) => text.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 80);

/**
 * Index of this launch among those of one job, as the command or the launcher gives it, else 0. Only launch 0 prints a
 * diagnosis: hundreds of nodes reading the same files at once would help nobody.
 */
export function launchIndex(env: Environment, command: readonly string[]): number {
  const argument = /^--(?:node[-_]rank|machine[-_]rank)(?:=(\d+))?$/;
  const at = command.findIndex((word) => argument.test(word));
  const inCommand = at < 0 ? undefined : (argument.exec(command[at]!)![1] ?? command[at + 1]);
  const found = [
    inCommand,
    env.SLURM_PROCID,
    env.OMPI_COMM_WORLD_RANK,
    env.PMI_RANK,
    env.NODE_RANK,
    env.GROUP_RANK,
  ];
  return Number(found.find((text) => text !== undefined && /^\d+$/.test(text)) ?? 0);
}

/** Makes `dmon-<host>.txt`; after a restart, or for another launch on this machine, `dmon-<host>.2.txt`, and so on. */
export async function newTelemetryFile(folder: string, what: string, ending: string): Promise<string> {
  const modes = ownModes(process.env);
  await mkdir(folder, { recursive: true, mode: modes.folder });
  const base = `${what}-${fileNameOf(hostname())}`;
  for (let n = 1; ; n++) {
    const path = join(folder, n === 1 ? `${base}.${ending}` : `${base}.${n}.${ending}`);
    try {
      await (await open(path, 'wx', modes.file)).close();
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
