import { type CheckResult, found } from '../base/check.js';
import type { TimeByClass } from '../facts/time-class.js';
import { type Amounts, total } from './amounts.js';
import { computeSource } from './divide.js';
import type { Outliers } from './outliers.js';
import { areRegular, type PaceBias, SAME_PACE, usualPeriod } from './pace.js';
import { WAIT_ROLES } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import type { RankRecords } from './step-records.js';

/** A doubt that holds for all computing seen through phases: a verdict of `gpu` from them alone is never certain. */
export const LAUNCH_NOTE = 'phases cannot tell computing from waiting for launches';

export interface NoteFacts {
  readonly records: RankRecords;
  readonly periods: StepPeriods;
  readonly amounts: Amounts;
  /** ns a step, over those that were recorded. */
  readonly recorded: number;
  /** Null: not asked, or it cannot be told. */
  readonly exposed: number | null;
  readonly stepIsWhole: boolean;
  readonly bias: PaceBias | null;
  /** What was recorded is the whole step. */
  readonly isIteration: boolean;
  readonly time: TimeByClass;
  readonly outliers: Outliers;
  /** ns a step; null: lags are not recorded. */
  readonly hostPaced: number | null;
}

const NAMED = 5;

/** What could not be told or was assumed, what matters most first. */
export function notesOf(facts: NoteFacts): CheckResult[] {
  return [...aboutComputing(facts), ...aboutInput(facts), ...aboutStep(facts), ...aboutRecords(facts)];
}

const note = (code: string, message: string, consequence: string) =>
  found('note', code, 1, message, consequence);

function aboutComputing(facts: NoteFacts): CheckResult[] {
  const { amounts, periods, time, outliers } = facts;
  const notes = [...aboutClock(facts)];
  if (computeSource(amounts)?.role === 'whole')
    notes.push(
      ...note(
        'whole-step-only',
        'only the whole step was timed',
        'what is no recorded wait counts as computing',
      ),
    );
  if (outliers.steps > 0) {
    const share = `${outliers.steps} of ${periods.steps.length} steps`;
    notes.push(
      ...note(
        'long-steps',
        `${share} took over three times as long without a recorded wait`,
        'compilation or checkpoints do; what they took beyond the others is nobody’s',
      ),
    );
  }
  if (time.comms_transfer > 0)
    notes.push(
      ...note(
        'collectives-in-full',
        'collectives are timed by phases',
        'they count also where they overlap with computing',
      ),
    );
  return notes;
}

function aboutClock({ amounts, records, hostPaced, recorded }: NoteFacts): CheckResult[] {
  const source = computeSource(amounts);
  if (!source)
    return note('no-model-phase', 'no phase of the model was recorded', 'computing cannot be told');
  if (records.allHost)
    return note('host-clock', 'all phases are timed by the host', 'right on a job without GPU only');
  if (source.clock === 'host')
    return note('host-clock', 'computing is timed by the host', 'what the device did cannot be told');
  if (hostPaced === null)
    return note('no-lags', LAUNCH_NOTE, 'a verdict of gpu from them alone is never certain');
  if (hostPaced === 0) return [];
  const share = Math.round((100 * hostPaced) / recorded);
  return note(
    'nothing-queued',
    `the device had nothing queued in ${share} % of the step`,
    'it was idle for an unknown part of it',
  );
}

function aboutInput({ amounts, records, periods, exposed, stepIsWhole }: NoteFacts): CheckResult[] {
  if (!records.phases.some((p) => p.role === 'data')) {
    const where = stepIsWhole ? 'in what is left of the step' : 'not in the step at all';
    return note('no-data-wait', 'data_wait was not recorded', `waiting for input would be ${where}`);
  }
  if (amounts.data.host === 0) return [];
  const message = 'data_wait is timed by the host';
  if (exposed !== null) {
    const share = Math.round(exposed * 100);
    return note('data-wait-on-host', message, `steps grow with ${share} % of it, which counts`);
  }
  return periods.source === 'start-times' && amounts.compute.device > 0
    ? []
    : note('data-wait-on-host', message, 'it may be hidden behind the device and counts in full');
}

function aboutStep(facts: NoteFacts): CheckResult[] {
  const { periods, amounts } = facts;
  const { source, layout, warmUp } = periods;
  const notes = [...aboutGaps(facts)];
  if (source === 'training_step' && layout === 'beside') {
    const message = 'training_step does not hold the waits before and after it';
    notes.push(...note('step-from-parts', message, 'the step is their sum'));
  } else if (source === 'training_step' && total(amounts, WAIT_ROLES) > 0) {
    const message = 'training_step and waits are recorded';
    notes.push(...note('waits-in-step', message, 'the step is taken to hold the waits'));
  }
  if (source === 'sum-of-phases')
    notes.push(
      ...note('step-from-phases', 'the step is the sum of its phases', 'time between them is missing'),
    );
  if (warmUp > 0) {
    const which = warmUp === 1 ? 'step' : `${warmUp} steps`;
    notes.push(...note('warm-up', `the first ${which} took far longer`, 'left out as warm-up'));
  }
  if (periods.steps.length < 3)
    notes.push(...note('few-steps', 'fewer than three steps were recorded', 'figures may be accidents'));
  return notes;
}

/** What a job does every few steps is in all of the recorded ones, or in none. */
function aboutGaps({ periods: { gaps, steps }, recorded, bias, isIteration }: NoteFacts): CheckResult[] {
  // Where any step may be recorded they differ by chance.
  const regular = areRegular(steps.map((s) => s.number));
  const remedy = regular ? '; spread_steps=true records any of ten' : '';
  const warn = (code: string, message: string, consequence: string) =>
    found(regular || !isIteration ? 'warning' : 'note', code, 1, message, consequence);
  if (bias === 'recorded-slower' && isIteration)
    return warn(
      'recorded-slower',
      `recorded steps take ${ms(recorded)} ms, all together ${ms(gaps.mean)} ms a step`,
      `what recorded steps have more of (a log, a checkpoint) is spread over all steps${remedy}`,
    );
  if (bias === null && isIteration && gaps.mean > SAME_PACE * recorded)
    return found(
      'warning',
      'rare-pauses',
      1,
      `all together ${ms(gaps.mean)} ms a step pass, recorded ones take ${ms(recorded)} ms`,
      'now and then something takes long (an evaluation, a checkpoint, a profiler): it is not in these figures',
    );
  if (bias !== 'others-slower') return [];
  const pass = `from one recorded step to the next ${ms(usualPeriod(gaps))} ms a step pass`;
  return isIteration
    ? warn(
        'others-slower',
        `${pass}, recorded ones take ${ms(recorded)} ms`,
        `what the others do more (a checkpoint, a rank that is late every few steps) has no name here${remedy}`,
      )
    : warn(
        'time-between',
        `${pass}, the phases explain ${ms(recorded)} ms of them`,
        'the rest is not in these figures',
      );
}

function aboutRecords({ records }: NoteFacts): CheckResult[] {
  const own = records.phases.filter((p) => p.role === 'own').map((p) => p.name);
  const named =
    own.slice(0, NAMED).join(', ') + (own.length > NAMED ? ` and ${own.length - NAMED} more` : '');
  const { dropped } = records;
  const message = `phases of the job’s own: ${named}`;
  return [
    ...found('note', 'own-phases', Math.min(1, own.length), message, 'what they do is not known'),
    ...found('note', 'no-duration', dropped, 'records without a usable duration', 'they were left out'),
  ];
}

const ms = (ns: number) => (ns < 100e6 ? (ns / 1e6).toPrecision(3) : (ns / 1e6).toFixed(0));
