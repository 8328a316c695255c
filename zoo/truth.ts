import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is known about one case: measured on the machine that recorded it, without the profiler. */
export interface CaseTruth {
  readonly name: string;
  readonly step_ms: number;
  /** The same in a process in which a profiler had run: CUPTI stays attached and slows host-bound loops. */
  readonly step_ms_attached?: number;
  /** The same by a parallel process that was never profiled, right before and after the recorded steps. */
  readonly step_ms_beside?: number;
  /** How far its two measurements are apart, as a share of their mean. */
  readonly spread_beside?: number;
  /** Median step time with a synchronize after every step. */
  readonly step_ms_sync?: number;
  /** Null: no single answer is right. */
  readonly bottleneck: string | null;
  /** Other answers that are right too. */
  readonly acceptable?: readonly string[];
  /** Rules that name the planted fault; one of them must be among the first two findings. Empty: nothing is planted. */
  readonly rules: readonly string[];
  /** Rules that must not promise a gain here. */
  readonly not_a_gain: readonly string[];
  /** The rule, or the id of its finding, that prices the measured fix, where it is not the first of `rules`; `none`: no rule does. */
  readonly gain_of?: string;
  readonly fix?: string;
  readonly twin?: string;
  readonly measured_speedup?: number;
  /** False: step times differed too much between repeats to judge by them. */
  readonly steady?: boolean;
  readonly note?: string;
}

export interface ZooTruth {
  readonly torch: string;
  readonly gpu: string;
  readonly date?: string;
  readonly runs: readonly CaseTruth[];
}

export function readTruth(directory: string): ZooTruth {
  return JSON.parse(readFileSync(join(directory, 'truth.json'), 'utf8'));
}

/** Free-running and synchronized step times of a steady loop differ by less than this. */
const STEADY = 0.3;

/** Repeats that differ by more are no truth, as in programs/outputs.py. */
const STEADY_SPREAD = 0.25;

/** The step at the time of the trace if it was measured then: hosts change their speed within seconds. */
export const trueStep = (truth: CaseTruth): number => truth.step_ms_beside ?? truth.step_ms;

export function isSteady(truth: CaseTruth): boolean {
  if (truth.spread_beside !== undefined) return truth.spread_beside <= STEADY_SPREAD;
  if (truth.steady !== undefined) return truth.steady;
  return truth.step_ms_sync === undefined || Math.abs(truth.step_ms_sync / truth.step_ms - 1) <= STEADY;
}
