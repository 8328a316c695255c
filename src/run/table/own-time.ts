import type { Ns } from '../../base/units.js';
import type { TimeByClass } from '../../facts/time-class.js';

/**
 * Ranks side by side, step by step. What tells a late rank is the time it takes *itself* between meeting the others:
 * step times are equal for all, and time in collectives is shortest on the one that comes last.
 */
export interface RankTable {
  /** Rank numbers, in the order of all the other lists. */
  readonly ranks: readonly number[];
  /** Their places among all ranks that were compared. */
  readonly places: readonly number[];
  readonly hosts: readonly (string | null)[];
  /** Place in the mesh by axis name; null where not known. */
  readonly coordinates: readonly (Readonly<Record<string, number>> | null)[];
  /** Steps that all ranks have, by index. */
  readonly steps: readonly number[];
  /** ns: for each rank and step, the step less exposed communication. */
  readonly own: readonly Float64Array[];
  /** ns a step, mean over ranks and steps. */
  readonly step: Ns;
  /** ns: how far times of different ranks can be compared; 0 where no clocks were needed. */
  readonly clockError: Ns;
  /** Some ranks are known from phases of an events log only: what they did besides waiting for input is not. */
  readonly phasesOnly: boolean;
  /** All are known from event logs. */
  readonly fromLogs: boolean;
  /** For each rank the share of its copies that are input on the way to the device. */
  readonly inputCopies: readonly number[];
  /** ns of each step by class, for each rank; waiting for others taken out. */
  readonly time: readonly (readonly TimeByClass[])[];
}

/** Time by what could make a rank late. */
export const CAUSES = ['data', 'gpu', 'compile', 'host'] as const;
export type OwnCause = (typeof CAUSES)[number];

/** ns of a rank's own time by cause. `inputCopies`: the share of copies that are input. */
export function byCause(time: TimeByClass, inputCopies: number): Record<OwnCause, number> {
  const input = time.copy * inputCopies;
  return {
    data: time.idle_data + input,
    gpu: time.compute,
    compile: time.idle_compile,
    // Other copies are small beside the rest, and what delays them is the host.
    host: time.idle_host + time.idle_sync + time.idle_other + time.copy - input,
  };
}
