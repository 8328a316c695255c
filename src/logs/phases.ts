/** What a phase is. The names are those that whyslow_capture and lmms-engine write; all others are the job's own phases. */
export const PHASE_ROLES = ['data', 'copy', 'metrics', 'compute', 'whole', 'comms', 'own'] as const;
export type PhaseRole = (typeof PHASE_ROLES)[number];
/** Phases that are inside `training_step` or outside it, depending on who wrote the log. */
export const WAIT_ROLES = ['data', 'copy', 'metrics'] as const;

export type PhaseClock = 'gpu' | 'host' | 'unknown';

const ROLES: ReadonlyMap<string, PhaseRole> = new Map<string, PhaseRole>([
  ['data_wait', 'data'],
  ['host_to_device', 'copy'],
  ['training_metrics', 'metrics'],
  ['forward', 'compute'],
  ['backward', 'compute'],
  ['optimizer', 'compute'],
  ['training_step', 'whole'],
]);

export function roleOf(name: string): PhaseRole {
  return ROLES.get(name) ?? (collectiveOf(name) === null ? 'own' : 'comms');
}

const PREFIX = 'collective:';
/** Collectives that a job times itself, under the names that torch.distributed gives them. */
const TIMED_BY_THE_JOB =
  /^(?:(?:nccl|gloo):|dist\.)?((?:all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|barrier)(?:_into_tensor|_tensor|_single|_object|_coalesced)?)$/;

/** The kind of collective that a phase is: `collective:all_reduce`, `nccl:all_reduce` and `all_reduce`. Null: none. */
export const collectiveOf = (name: string): string | null =>
  name.startsWith(PREFIX) ? name.slice(PREFIX.length) : (TIMED_BY_THE_JOB.exec(name)?.[1] ?? null);
