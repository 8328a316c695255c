import { largest, median, robustDeviation } from '../../base/statistics.js';
import type { RunSteps } from './step-comparison.js';

/** A pause takes this many times the usual step, and is this many deviations off. */
const FAR = 1.5;
const DEVIATIONS = 6;
/** At most this share of a run's steps are pauses; with more, long steps belong to the job. One may be in any run. */
const RARE = 0.02;
/** With fewer steps there is no usual step. */
const MIN_STEPS = 5;

export interface WithoutPauses {
  readonly steps: RunSteps;
  readonly pauses: number;
  /** Mean time per step that the pauses took beyond the longest other step. */
  readonly pausedMs: number;
}

/**
 * Shortens rare pauses (a first step that still warms up, a stall of the host) to the longest other step. One of them among
 * 200 steps would hide a difference of 5%. Long steps that come often stay: input in bursts is what a job costs.
 */
export function shortenPauses(steps: RunSteps): WithoutPauses {
  const unchanged = { steps, pauses: 0, pausedMs: 0 };
  if (steps.length < MIN_STEPS) return unchanged;
  const usual = median(steps);
  const limit = Math.max(FAR * usual, usual + DEVIATIONS * robustDeviation(steps));
  const pauses = steps.filter((s) => s > limit).length;
  if (pauses === 0 || pauses > Math.max(1, RARE * steps.length)) return unchanged;
  const longest = largest(steps.filter((s) => s <= limit));
  const paused = steps.reduce((sum, s) => sum + Math.max(0, s - longest), 0);
  return { steps: steps.map((s) => Math.min(s, longest)), pauses, pausedMs: paused / steps.length };
}
