import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../base/group-by.js';
import { InputError } from '../base/input-error.js';
import type { MachineFiles } from './files.js';
import { isPython, type ProcessTable, processTable, treeOf } from './processes.js';

/** A job that trains: the process at its root. */
export interface FoundJob {
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
