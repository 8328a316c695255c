import { groupBy } from '../../base/group-by.js';
import type { ProcessFacts, Recording } from '../../model/recording.js';

/** What a process of a job does. `launcher`: torchrun, or a script that only starts ranks. */
export type Role = 'trainer' | 'worker' | 'compiler' | 'launcher' | 'helper';

const COMPILERS =
  /^(?:\S*\/)?(?:cc1plus|cc1|nvcc|ptxas|cicc|cudafe\+\+|gcc|g\+\+|c\+\+|clang\S*|ld|as)(?:\s|$)/;
const COMPILE_WORKER = /torch[/.]_inductor[/.]\S*compile_worker/;
const HELPERS =
  /multiprocessing[. ]*(?:import )?\s*(?:resource_tracker|semaphore_tracker|forkserver)|\.resource_tracker import/;
const LAUNCHERS =
  /(?:^|[\s/])(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate launch|accelerate-launch|deepspeed)(?:\s|$)/;
/** Started by multiprocessing's `spawn`: a DataLoader worker or a rank. */
const SPAWNED = /--multiprocessing-fork|multiprocessing\.spawn/;
/** The name that torch gives to DataLoader workers from 2.6 on. */
const WORKER_NAME = 'pt_data_worker';
const namesWorkers = (version: string | null): boolean => {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 6);
};

/** The role of every process, by id. */
export function rolesOf({ processes, samples }: Recording): ReadonlyMap<number, Role> {
  const names = new Map(
    samples.flatMap((s) => s.processes.map((p) => [p.pid, p.threads[0]?.name ?? ''] as const)),
  );
  const byId = new Map(processes.map((p) => [p.pid, p]));
  const children = groupBy(processes, (p) => p.parent);
  // Copies that open a GPU their parent has not opened are ranks. Without a GPU, those are that are not named as workers.
  const isRank = (c: ProcessFacts, p: ProcessFacts): boolean =>
    isCopy(c, p) &&
    c.torch &&
    !p.gpu &&
    (c.gpu || (namesWorkers(c.torchVersion) && names.get(c.pid) !== WORKER_NAME));
  const startsRanks = (p: ProcessFacts) => (children.get(p.pid) ?? []).some((c) => isRank(c, p));
  const roleOf = (p: ProcessFacts): Role => {
    if (names.get(p.pid) === WORKER_NAME) return 'worker';
    if (COMPILERS.test(p.command) || COMPILE_WORKER.test(p.command)) return 'compiler';
    if (HELPERS.test(p.command)) return 'helper';
    if (LAUNCHERS.test(p.command) || startsRanks(p)) return 'launcher';
    const parent = byId.get(p.parent);
    if (parent && isCopy(p, parent) && !isRank(p, parent) && !LAUNCHERS.test(parent.command)) return 'worker';
    return p.torch || p.gpu ? 'trainer' : 'helper';
  };
  const roles = new Map(processes.map((p) => [p.pid, roleOf(p)]));
  return withoutIdleParents(roles, processes);
}

const isCopy = (child: ProcessFacts, parent: ProcessFacts): boolean =>
  child.command === parent.command || SPAWNED.test(child.command);

/** A named process that does not look like training is still what the user asked about. */
function withoutIdleParents(roles: Map<number, Role>, processes: readonly ProcessFacts[]): Map<number, Role> {
  if ([...roles.values()].includes('trainer')) return roles;
  const root = processes.find((p) => !roles.has(p.parent));
  if (root && /python/.test(root.command) && roles.get(root.pid) === 'helper') roles.set(root.pid, 'trainer');
  return roles;
}

/** `rank 3`, or the process where no rank is known. */
export const nameOfProcess = (facts: ProcessFacts): string => {
  const rank = rankOfProcess(facts);
  return rank === null ? `process ${facts.pid}` : `rank ${rank} (process ${facts.pid})`;
};

export const rankOfProcess = ({ environment }: ProcessFacts): number | null => {
  const rank = environment.RANK ?? environment.SLURM_PROCID;
  return rank === undefined || !/^\d{1,6}$/.test(rank) ? null : Number(rank);
};
