import { groupBy } from '../base/group-by.js';
import { smallest } from '../base/statistics.js';
import type { Iteration } from '../facts/job-time.js';
import type { EventLog, EventLogHeader, EventLogRun } from '../model/event-log.js';
import { selectSteps } from './keep-steps.js';

/** With fewer recorded iterations, the optimizer steps before them are the better evidence. */
const ENOUGH = 3;
/** Larger numbers are not whyslow_capture's. */
const MAX_COUNT = 1e6;

/**
 * Capture needs some iterations to find out that each has several optimizer steps. Until then it counts every one of them as a
 * step. Those records are left out: their steps are not what the later ones are.
 */
export function inOneUnit(log: EventLog): EventLog {
  return { runs: log.runs.map(onlyIterations) };
}

function onlyIterations(run: EventLogRun): EventLogRun {
  const from = firstStep(run.header);
  const later = groupBy(
    [...run.step.keys()].filter((row) => run.step[row]! >= from),
    (row) => run.step[row]!,
  );
  return from === 0 || later.size < ENOUGH ? run : selectSteps(run, { first: from, last: null });
}

/** What a step of this run is. Null: one optimizer step, or steps of both kinds. */
export function iterationOf({ header, step, rows }: EventLogRun): Iteration | null {
  const fields = fieldsOf(header);
  const optimizerSteps = countOf(fields?.optimizer_steps);
  const backwardPasses = countOf(fields?.backward_passes);
  if (!fields || rows === 0 || smallest(step) < firstStep(header)) return null;
  if (optimizerSteps < 1 || (optimizerSteps === 1 && backwardPasses < 2)) return null;
  return {
    optimizerSteps,
    optimizers: Math.max(1, Math.min(optimizerSteps, countOf(fields.optimizers))),
    backwardPasses,
    varies: fields.varies === true,
    rollout: fields.rollout === true,
  };
}

const firstStep = (header: EventLogHeader | null) => countOf(fieldsOf(header)?.from_step);

function fieldsOf(header: EventLogHeader | null): Readonly<Record<string, unknown>> | null {
  const value = header?.fields?.iteration;
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
}

const countOf = (value: unknown): number =>
  typeof value === 'number' && value >= 0 && value <= MAX_COUNT ? Math.round(value) : 0;
