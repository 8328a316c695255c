import { type CheckResult, found } from '../base/check.js';
import { formatCount } from '../base/units.js';
import { PROFILER_LEFT_ON } from '../facts/step-facts.js';
import type { EventLogRun } from '../model/event-log.js';

/** Fewer steps are not a measurement. */
const ENOUGH = 3;
/** `EventLogRun.profiler`. */
const ATTACHED = 1;
const RECORDING = 2;

/** A profiler that records more of the steps is left on: nobody looks at them all. */
const MOST_STEPS = 0.5;

interface Undisturbed {
  /** Whether a row counts. */
  readonly counts: (row: number) => boolean;
  readonly notes: readonly CheckResult[];
}

/**
 * Steps that a profiler made slower do not count, unless there are hardly any others. A profiler that is only attached
 * disturbs less than one that records. `rows`: those to choose from.
 */
export function undisturbed(run: EventLogRun, rows: readonly number[]): Undisturbed {
  const steps = [0, ATTACHED, RECORDING].map(
    (mark) => new Set(rows.filter((row) => run.profiler[row] === mark).map((row) => run.step[row]!)).size,
  );
  const [clean = 0, attached = 0, recording = 0] = steps;
  const most = clean >= ENOUGH ? 0 : clean + attached >= ENOUGH ? ATTACHED : RECORDING;
  const leftOut = (most < ATTACHED ? attached : 0) + (most < RECORDING ? recording : 0);
  return {
    counts: (row) => run.profiler[row]! <= most,
    notes: [
      ...found(
        'note',
        'profiled-steps',
        leftOut > 0 ? 1 : 0,
        `${formatCount(leftOut, 'step')} ran with a profiler attached or recording`,
        'left out, because the profiler makes steps slower',
      ),
      ...found(
        'warning',
        'step-with-profiler',
        most === 0 || attached + recording === 0 ? 0 : 1,
        `only ${formatCount(clean, 'step')} ran without a profiler`,
        'the others count too; a job that is limited by its host runs up to 1.7 times faster without one',
      ),
      ...found(
        'note',
        PROFILER_LEFT_ON,
        recording > MOST_STEPS * (clean + attached + recording) ? 1 : 0,
        `a profiler of the job recorded ${recording} of ${formatCount(clean + attached + recording, 'step')}`,
        'training is slower than it needs to be',
      ),
    ],
  };
}
