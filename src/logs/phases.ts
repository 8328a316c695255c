/** What a phase says about a step. The names are the contract's; all others are the user's own. */
export type PhaseRole = 'data' | 'copy' | 'metrics' | 'compute' | 'whole' | 'comms' | 'own';
export const PHASE_ROLES: readonly PhaseRole[] = [
  ...(['data', 'copy', 'metrics', 'compute', 'whole', 'comms', 'own'] as const),
];
/** Phases that may lie in `training_step` or beside it. Which of the two depends on who wrote the file. */
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
