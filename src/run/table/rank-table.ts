import type { Ns, Share } from '../../base/units.js';
import type { TimeByClass } from '../../facts/time-class.js';

/** A rank's position on each mesh axis, by axis name, outermost axis first. */
export type Coordinates = Readonly<Record<string, number>>;

/**
 * The compared ranks side by side, step by step. A late rank shows in its own time: the step less its exposed
 * communication. It shows neither in the step, which is as long on all ranks because they wait for each other, nor in its
 * time in collectives, which is shortest on the late rank because everybody else is there already.
 */
export interface RankTable {
  /** Rank numbers. All other lists by rank are in this order. */
  readonly ranks: readonly number[];
  /** Index of each rank in `MatchedCollectives.ranks`. */
  readonly rankIndices: readonly number[];
  readonly hosts: readonly (string | null)[];
  /** Null: unknown. */
  readonly coordinates: readonly (Coordinates | null)[];
  /** Numbers of the steps that all ranks have. */
  readonly steps: readonly number[];
  /** ns of own time, by rank and step. */
  readonly own: readonly Float64Array[];
  /** ns of own time behind which transfers may already have run, by rank and step. 0 where it is known when they began. */
  readonly mayHide: readonly Float64Array[];
  /** Mean recorded step over ranks and steps: `StepTime.recorded` of the run. */
  readonly recorded: Ns;
  /** By rank and step. Waiting for other ranks is in `comms_wait` and in no other class. */
  readonly time: readonly (readonly TimeByClass[])[];
  /** All ranks are known from event logs. */
  readonly fromLogs: boolean;
  /** The log of some rank separates waiting for input from the rest of its own time, and nothing more. */
  readonly onlyInputKnown: boolean;
  /** For each rank the share of its copies that move input to the device. */
  readonly inputCopies: readonly Share[];
}

/** What can make a rank late. */
export const CAUSES = ['data', 'gpu', 'compile', 'host'] as const;
export type OwnCause = (typeof CAUSES)[number];

/** ns of a rank's own time by cause. */
export function byCause(time: TimeByClass, inputCopies: Share): Record<OwnCause, number> {
  const input = time.copy * inputCopies;
  return {
    data: time.idle_data + input,
    gpu: time.compute,
    compile: time.idle_compile,
    // Other copies are short, and the host is what delays them.
    host: time.idle_host + time.idle_sync + time.idle_other + time.copy - input,
  };
}
