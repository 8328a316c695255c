import { median } from '../base/statistics.js';
import type { EventLog, EventLogRun } from '../model/event-log.js';
import { selectSteps } from './keep-steps.js';
import { roleOf } from './phases.js';

/** A run this many times longer than its densely recorded head is judged by the rest. */
const LONGER = 4;
/** With fewer recorded steps in the rest, chance decides which of them waited, and the head is the better evidence. */
const ENOUGH = 20;
/** These are enough where the later steps are other steps: another model or batch size, a busier machine. */
const ENOUGH_OF_OTHERS = 5;
const OTHER_STEPS = 1.4;

/**
 * Capture records every one of the first steps, for the sake of short trials, and then one in ten. In a longer run the head
 * would count too much: it holds the warm-up, and most of the recorded steps.
 *
 * This chooses which steps count. step-periods.ts then chooses how to time them, and must not fall back to the head alone
 * where the head stays: it is the only place with consecutive steps.
 */
export function withoutDenseHead(log: EventLog): EventLog {
  return { runs: log.runs.map(withoutHead) };
}

function withoutHead(run: EventLogRun): EventLogRun {
  const dense = run.header?.denseSteps ?? 0;
  if (dense === 0 || run.rows === 0) return run;
  const first = run.step.reduce((a, b) => Math.min(a, b));
  const last = run.step.reduce((a, b) => Math.max(a, b));
  const from = first + dense;
  if (last - first < LONGER * dense) return run;
  // Steps with a profiler attached are no better evidence.
  const rest = new Set(run.step.filter((step, row) => step >= from && run.profiler[row] === 0));
  const enough = rest.size >= ENOUGH || (rest.size >= ENOUGH_OF_OTHERS && isUnlikeRest(run, from));
  return enough ? selectSteps(run, { first: from, last: null }) : run;
}

/** Medians, because the head holds the warm-up. */
function isUnlikeRest(run: EventLogRun, from: number): boolean {
  const lengths = (isHead: boolean) =>
    run.durationMs.filter(
      (_, row) =>
        run.step[row]! < from === isHead &&
        run.profiler[row] === 0 &&
        roleOf(run.names[run.name[row]!]!) === 'whole',
    );
  const ratio = median(lengths(true)) / median(lengths(false));
  return ratio > OTHER_STEPS || ratio < 1 / OTHER_STEPS;
}
