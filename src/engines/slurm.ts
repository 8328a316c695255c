import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeSystemError, InputError } from '../base/input-error.js';
import { leaveNothing } from '../base/leave-nothing.js';
import { quotedCommand } from '../base/printable.js';
import type { EngineJob, EngineResult, LostFile } from './engine.js';
import { inPackage } from './engine.js';

/** What each share leaves in the folder: what `whyslow facts --json` prints. */
interface ShareReport {
  readonly written: readonly { readonly path: string; readonly from: string }[];
  readonly ignored: readonly string[];
  readonly problems: readonly { readonly message: string }[];
}

export const isInAllocation = (env = process.env): boolean => env.SLURM_JOB_ID !== undefined;

const program = () => [process.execPath, inPackage('bin/whyslow.js')];

/** One share of the files a task. Slurm sets both variables, under srun and in an array. */
const factsCommand = ({ paths, out, options }: EngineJob, share: string): string =>
  `${quotedCommand([...program(), 'facts', ...paths, '-o', out, ...options])} --share "${share}"`;

/**
 * Runs `whyslow facts` by srun on all nodes of the allocation: every task takes its share of the files. A share that is cut
 * off is run once more, file by file. The folder, the files and whyslow must be on a disk that all nodes share.
 */
export async function runOnSlurm(job: EngineJob, files: readonly string[]): Promise<EngineResult> {
  const { progress, out } = job;
  progress.start(files.length, 0);
  const watch = setInterval(() => progress.update(0, filesMade(out)), 1000);
  try {
    const first = await srun(factsCommand(job, '$SLURM_PROCID/$SLURM_NTASKS'));
    const missing = missingFrom(files, out);
    if (missing.length > 0 && missing.length < files.length) {
      progress.note?.(`${missing.length} files gave no facts; trying them again`);
      await srun(factsCommand({ ...job, paths: missing }, '$SLURM_PROCID/$SLURM_NTASKS'));
    }
    const madeOf = madeIn(out);
    if (madeOf.size === 0) throw new InputError(`srun gave no facts: ${first || 'it printed nothing'}`);
    return { madeOf, lost: lostIn(out, missingFrom(files, out), first), ignored: ignoredIn(out) };
  } finally {
    clearInterval(watch);
  }
}

/** A share that was not cut off knows more about its own files than srun's complaint. */
function lostIn(out: string, missing: readonly string[], complaint: string): readonly LostFile[] {
  const messages = sharesIn(out).flatMap(({ problems }) => problems.map((p) => p.message));
  return missing.map((path) => {
    const own = messages.find((message) => message.includes(path));
    return { path, why: own ?? (complaint || 'its task gave no facts') };
  });
}

/** Its last error, or the last line: after `error: n2: task 1: Killed` it says only that the step was terminated. */
function srun(command: string): Promise<string> {
  const child = spawn(
    'srun',
    ['--kill-on-bad-exit=0', '--wait=0', 'sh', '-c', `exec ${command} >/dev/null`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  // srun ends its tasks on all nodes. Ctrl-C reaches it too, but a signal to this process alone does not.
  const finished = leaveNothing(() => void child.kill());
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4000);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      finished();
      reject(new InputError(`cannot start srun: ${describeSystemError(error)}; is Slurm installed here?`));
    });
    child.once('close', () => {
      finished();
      const lines = complaint.trim().split('\n');
      resolve(lines.findLast((line) => line.includes('error: ')) ?? lines.at(-1) ?? '');
    });
  });
}

const SHARES = '.whyslow';

function sharesIn(out: string): readonly ShareReport[] {
  try {
    const names = readdirSync(join(out, SHARES));
    return names.map((name) => JSON.parse(readFileSync(join(out, SHARES, name), 'utf8')) as ShareReport);
  } catch {
    return [];
  }
}

const madeIn = (out: string): ReadonlyMap<string, string> =>
  new Map(sharesIn(out).flatMap(({ written }) => written.map(({ path, from }) => [path, from])));

const ignoredIn = (out: string) => sharesIn(out).flatMap((share) => share.ignored);

/** Members of an archive count for the archive. */
function missingFrom(files: readonly string[], out: string): readonly string[] {
  const made = new Set([...madeIn(out).values(), ...ignoredIn(out)].map((from) => from.split('!', 1)[0]!));
  return files.filter((file) => !made.has(file));
}

function filesMade(out: string): number {
  try {
    return readdirSync(out, { recursive: true }).length;
  } catch {
    return 0;
  }
}

/** A line break in a name would end the comment, and what follows it would run. */
const inComment = (text: string) => text.replaceAll(/[\r\n]+/g, ' ');

/** Outside of an allocation: a script for sbatch that makes the facts, and what to do when it is done. */
export function sbatchScript(job: EngineJob, tasks: number): string {
  const { out, options } = job;
  return `#!/bin/sh
#SBATCH --job-name=whyslow-facts
#SBATCH --array=0-${tasks - 1}
#SBATCH --cpus-per-task=2
#SBATCH --mem-per-cpu=2G
# Submit it:       sbatch SCRIPT
# When it is done: ${inComment(quotedCommand([...program(), 'diagnose', out, ...options]))}
exec ${factsCommand(job, `$SLURM_ARRAY_TASK_ID/${tasks}`)}
`;
}
