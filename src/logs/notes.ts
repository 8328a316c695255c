import { type CheckResult, found } from '../base/check.js';
import { formatMs, formatWholePercent, type Ns, ns, share } from '../base/units.js';
import type { TimeByClass } from '../facts/time-class.js';
import { type Amounts, total } from './amounts.js';
import { computeSource } from './divide.js';
import type { Outliers } from './outliers.js';
import { areRegular, type PaceBias, SAME_PACE, usualPeriod } from './pace.js';
import { WAIT_ROLES } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import type { RankRecords } from './step-records.js';

/** True of all computing seen through phases without lags: a verdict of `gpu` from them alone is never certain. */
export const LAUNCH_NOTE = 'phases cannot tell computing from waiting for launches';

interface NoteFacts {
  readonly records: RankRecords;
  readonly periods: StepPeriods;
  readonly amounts: Amounts;
  /** Mean recorded step. */
  readonly recorded: Ns;
  /** The share of a host-timed wait for data that made steps longer. Null: not estimated. */
  readonly exposed: number | null;
  readonly stepIsWhole: boolean;
  readonly bias: PaceBias | null;
  /** Whole iterations were recorded. */
  readonly isIteration: boolean;
  readonly time: TimeByClass;
  readonly outliers: Outliers;
  /** Per step. Null: lags were not recorded. */
  readonly hostPaced: Ns | null;
}

/** Phases of the job's own that are named. */
const MAX_NAMED = 5;

/** What is not known and what was assumed, the most important first. */
export function notesOf(facts: NoteFacts): CheckResult[] {
  return [
    ...aboutClock(facts),
    ...aboutComputing(facts),
    ...aboutInput(facts),
    ...aboutPace(facts),
    ...aboutStep(facts),
    ...aboutRecords(facts),
  ];
}

const noteIf = (condition: boolean, code: string, message: string, consequence: string) =>
  found('note', code, Number(condition), message, consequence);
const note = (code: string, message: string, consequence: string) => noteIf(true, code, message, consequence);

function aboutClock({ amounts, records, hostPaced, recorded }: NoteFacts): CheckResult[] {
  const source = computeSource(amounts);
  if (!source) return note('no-model-phase', 'no phase of the model was recorded', 'computing is not known');
  if (records.allHost)
    return note('host-clock', 'all phases were timed by the host', 'correct only for a job without GPU');
  if (source.clock === 'host')
    return note('host-clock', 'computing was timed by the host', 'what the GPU did is not known');
  if (hostPaced === null)
    return note('no-lags', LAUNCH_NOTE, 'a verdict of gpu from phases alone is never certain');
  const idle = formatWholePercent(share(hostPaced / recorded));
  return noteIf(
    hostPaced > 0,
    'nothing-queued',
    `the GPU had nothing queued in ${idle} of the step`,
    'it was idle for an unknown part of that time',
  );
}

function aboutComputing({ amounts, periods, time, outliers }: NoteFacts): CheckResult[] {
  return [
    ...noteIf(
      computeSource(amounts)?.role === 'whole',
      'whole-step-only',
      'only the whole step was timed',
      'all time but the recorded waits counts as computing',
    ),
    ...noteIf(
      outliers.steps > 0,
      'long-steps',
      `${outliers.steps} of ${periods.steps.length} steps took over three times as long without a recorded wait`,
      'compilation and checkpoints do that; their extra time counts as unexplained',
    ),
    ...noteIf(
      time.comms_transfer > 0,
      'collectives-in-full',
      'collectives were timed as phases',
      'they count in full, also where they overlap with computing',
    ),
  ];
}

function aboutInput({ amounts, records, periods, exposed, stepIsWhole }: NoteFacts): CheckResult[] {
  if (!records.phases.some((p) => p.role === 'data')) {
    const where = stepIsWhole ? 'in the unexplained part of the step' : 'outside the step';
    return note('no-data-wait', 'data_wait was not recorded', `waiting for input, if any, is ${where}`);
  }
  const isCertain = periods.source === 'start-times' && amounts.compute.device > 0;
  return noteIf(
    amounts.data.host > 0 && !isCertain,
    'data-wait-on-host',
    'data_wait was timed by the host',
    exposed === null
      ? 'it counts in full, though the GPU may have worked meanwhile'
      : `steps grow by ${formatWholePercent(share(exposed))} of it, and that part counts`,
  );
}

/** What a job does every few steps is in all recorded steps or in none. */
function aboutPace({ periods: { gaps, steps }, recorded, bias, isIteration }: NoteFacts): CheckResult[] {
  // Steps recorded at random differ by chance.
  const regular = areRegular(steps.map((s) => s.number));
  const remedy = regular ? '; spread_steps=true varies which steps are recorded' : '';
  const severity = regular || !isIteration ? 'warning' : 'note';
  const [own, average, usual] = [recorded, ns(gaps.mean), ns(usualPeriod(gaps))].map(formatMs);
  if (bias === 'recorded-slower' && isIteration)
    return found(
      severity,
      'recorded-slower',
      1,
      `recorded steps take ${own}, the average step ${average}`,
      `what recorded steps do on top (a log, a checkpoint) is spread over all steps${remedy}`,
    );
  if (bias === null && isIteration && gaps.mean > SAME_PACE * recorded)
    return found(
      'warning',
      'rare-pauses',
      1,
      `the average step takes ${average}, recorded steps ${own}`,
      'a rare pause (an evaluation, a checkpoint, a profiler) is not in these figures',
    );
  if (bias !== 'others-slower') return [];
  const all = `from one recorded step to the next, a step takes ${usual}`;
  return isIteration
    ? found(
        severity,
        'others-slower',
        1,
        `${all}; recorded steps take ${own}`,
        `what other steps do on top (a checkpoint, a rank that is late every few steps) is unexplained${remedy}`,
      )
    : found(
        severity,
        'time-between',
        1,
        `${all}; its phases explain ${own}`,
        'the rest is not in these figures',
      );
}

function aboutStep({ periods, amounts }: NoteFacts): CheckResult[] {
  const { source, layout, warmUp } = periods;
  const isBeside = layout === 'beside';
  const hasWaits = total(amounts, WAIT_ROLES) > 0;
  return [
    ...noteIf(
      source === 'training_step' && isBeside,
      'step-from-parts',
      'training_step leaves out the waits before and after it',
      'the step is their sum',
    ),
    ...noteIf(
      source === 'training_step' && !isBeside && hasWaits,
      'waits-in-step',
      'training_step and waits were both recorded',
      'the waits are taken to lie inside training_step',
    ),
    ...noteIf(
      source === 'sum-of-phases',
      'step-from-phases',
      'the step is the sum of its phases',
      'time between phases is missing',
    ),
    ...noteIf(
      warmUp > 0,
      'warm-up',
      `the first ${warmUp === 1 ? 'step' : `${warmUp} steps`} took far longer`,
      'left out as warm-up',
    ),
    ...noteIf(
      periods.steps.length < 3,
      'few-steps',
      'fewer than three steps were recorded',
      'figures may be accidental',
    ),
  ];
}

function aboutRecords({ records: { phases, dropped } }: NoteFacts): CheckResult[] {
  const own = phases.filter((p) => p.role === 'own').map((p) => p.name);
  const more = own.length > MAX_NAMED ? ` and ${own.length - MAX_NAMED} more` : '';
  const named = own.slice(0, MAX_NAMED).join(', ') + more;
  return [
    ...noteIf(own.length > 0, 'own-phases', `the job’s own phases: ${named}`, 'what they do is not known'),
    ...found('note', 'no-duration', dropped, 'records without a usable duration', 'they were left out'),
  ];
}
