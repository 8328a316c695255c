import { mean } from '../../base/statistics.js';
import { autocovariance } from './correlation.js';
import type { RunSteps } from './run-steps.js';

/** Longer runs are averaged to at most this many groups of steps: the answer is the same, and the time is bounded. */
const MAX_GROUPS = 2000;
/** A pattern repeats if steps a cycle apart are at least this alike. */
const ALIKE = 0.5;
/** Fewer cycles than this are no pattern. */
const MIN_CYCLES = 5;

/**
 * Means of whole cycles, where steps follow a pattern: with input from eight workers, every eighth step may wait. Part of a
 * cycle says nothing about the mean. Without a pattern, the steps as they are.
 */
export function wholeCycles(steps: RunSteps): RunSteps {
  const period = periodOf(steps);
  return inGroups(steps, period * Math.ceil(steps.length / period / MAX_GROUPS));
}

/** 1: no pattern. */
function periodOf(steps: RunSteps): number {
  const covariance = autocovariance(steps, Math.min(MAX_GROUPS, Math.floor(steps.length / MIN_CYCLES)));
  let period = 1;
  for (let lag = 2; lag < covariance.length; lag++) if (covariance[lag]! > covariance[period]!) period = lag;
  return covariance[period]! > ALIKE * covariance[0]! ? period : 1;
}

function inGroups(steps: RunSteps, size: number): RunSteps {
  if (size <= 1) return steps;
  const groups = Math.floor(steps.length / size);
  return Array.from({ length: groups }, (_, g) => mean(steps.slice(g * size, (g + 1) * size)));
}
