import type { Ns } from '../../base/units.js';
import type { SlowGpu } from '../../telemetry/slow-gpu.js';
import type { OwnCause } from '../table/rank-table.js';
import type { SingleRankPattern } from './single-rank.js';

export type Cause = OwnCause | 'link' | 'unknown';
export type Pattern = SingleRankPattern | 'rotating' | 'host' | 'stage';

/** One rank or several that the others wait for. */
export interface LateRanks {
  /** Empty: a different rank in each step. */
  readonly ranks: readonly number[];
  readonly pattern: Pattern;
  readonly cause: Cause;
  /** Time per step that the run would save without the delay. */
  readonly cost: Ns;
  /** What it costs at most, where a log does not tell whether the others wait for all of the delay (`hidden-delay.ts`). */
  readonly mayCost?: Ns | undefined;
  readonly confidence: number;
  /** Of a late host or stage: the host's name, or the mesh axis and coordinate (`pp 1`), or both. */
  readonly location: string | null;
  /** Numbers of the steps in which they were late. */
  readonly steps: readonly number[];
  /** Where telemetry shows that their GPU was slow. */
  readonly slowGpu?: SlowGpu;
  /** Where event logs show that most of the delay is in a phase that the job named itself. */
  readonly phase?: LatePhase;
}

/** A phase that takes late ranks longer than others. Times per step. */
export interface LatePhase {
  readonly name: string;
  readonly time: Ns;
  /** The median of the other ranks. */
  readonly usual: Ns;
}

/** Whether the others may not wait for most of the delay: a log does not tell. */
export const mayBeHidden = ({ cost, mayCost }: LateRanks) => mayCost !== undefined && cost < mayCost / 2;
