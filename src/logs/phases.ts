/** What a phase is. The names are those that whyslow_capture and lmms-engine write; all others are the job's own phases. */
export const PHASE_ROLES = ['data', 'copy', 'metrics', 'compute', 'whole', 'comms', 'own'] as const;
export type PhaseRole = (typeof PHASE_ROLES)[number];
/** Phases that lie inside `training_step` or beside it, depending on who wrote the log. */
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
  return ROLES.get(name) ?? (name.startsWith('collective:') ? 'comms' : 'own');
}
