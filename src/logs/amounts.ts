import { PHASE_ROLES, type PhaseRole } from './phases.js';
import { type RankRecords, type RecordedStep, sumOf } from './step-records.js';

/** ns of one step by role. Phases that the host timed, while others have device timings (`RecordedPhase.onHost`), are kept apart. */
export type Amounts = Readonly<Record<PhaseRole, { readonly device: number; readonly host: number }>>;

/** Micro-steps are summed. */
export function amountsOf(records: RankRecords, step: RecordedStep): Amounts {
  const amounts = zero();
  for (const [phase, parts] of step.parts) {
    const { role, onHost } = records.phases[phase]!;
    amounts[role][onHost ? 'host' : 'device'] += sumOf(parts);
  }
  return amounts;
}

export function meanAmounts(all: readonly Amounts[]): Amounts {
  const mean = zero();
  for (const role of PHASE_ROLES) {
    for (const clock of ['device', 'host'] as const) {
      mean[role][clock] = all.reduce((ns, a) => ns + a[role][clock], 0) / all.length;
    }
  }
  return mean;
}

/** ns of the given roles on both clocks. */
export function total(amounts: Amounts, roles: readonly PhaseRole[]): number {
  return roles.reduce((ns, r) => ns + amounts[r].device + amounts[r].host, 0);
}

function zero(): Record<PhaseRole, { device: number; host: number }> {
  const entries = PHASE_ROLES.map((r) => [r, { device: 0, host: 0 }]);
  return Object.fromEntries(entries) as Record<PhaseRole, { device: number; host: number }>;
}
