import { type CheckResult, found } from '../base/check.js';
import { formatMs, formatWholePercent, type Ns, ns, share } from '../base/units.js';
import type { TimeByClass } from '../facts/time-class.js';
import { computeSource, type Outliers } from './divide.js';
import { areRegular, type PaceBias, SAME_PACE, usualPeriod } from './pace.js';
import { WAIT_ROLES } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import { type Amounts, type RankRecords, total } from './step-records.js';

/** True of all computing seen through phases without lags: a verdict of `gpu` from them alone is never certain. */
export const LAUNCH_NOTE = 'phases do not separate computing from waiting for launches';

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

/** Code: what was seen, and what it means. */
const TEXTS = {
  'no-model-phase': ['no phase of the model was recorded', 'computing is not known'],
  'no-lags': [LAUNCH_NOTE, 'a verdict of gpu from phases alone is never certain'],
  'whole-step-only': ['only the whole step was timed', 'all time but the recorded waits counts as computing'],
  'collectives-in-full': [
    'collectives were timed as phases',
    'they count in full, also where they overlap with computing',
  ],
  'step-from-parts': ['training_step leaves out the waits before and after it', 'the step is their sum'],
  'waits-in-step': [
    'training_step and waits were both recorded',
    'the waits are assumed to be inside training_step',
  ],
  'step-from-phases': ['the step is the sum of its phases', 'time between phases is missing'],
  'few-steps': ['fewer than three steps were recorded', 'figures may be accidental'],
} as const;

const note = (code: string, message: string, consequence: string) =>
  found('note', code, 1, message, consequence);
const known = (code: keyof typeof TEXTS, condition = true) =>
  condition ? note(code, TEXTS[code][0], TEXTS[code][1]) : [];

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

function aboutClock({ amounts, records, hostPaced, recorded }: NoteFacts): CheckResult[] {
  const source = computeSource(amounts);
  if (!source) return known('no-model-phase');
  if (records.allHost)
    return note('host-clock', 'all phases were timed by the host', 'correct only for a job without GPU');
  if (source.clock === 'host')
    return note('host-clock', 'computing was timed by the host', 'what the GPU did is not known');
  if (hostPaced === null) return known('no-lags');
  if (hostPaced === 0) return [];
  const message = `the GPU had nothing queued in ${formatWholePercent(share(hostPaced / recorded))} of the step`;
  return note('nothing-queued', message, 'it was idle for an unknown part of that time');
}

function aboutComputing({ amounts, periods, time, outliers }: NoteFacts): CheckResult[] {
  const long = `${outliers.steps} of ${periods.steps.length} steps computed over three times as long as usual`;
  const consequence =
    'no batch takes that long: something else ran, often a compilation or a checkpoint; the extra time counts as other, not as computing';
  return [
    ...known('whole-step-only', computeSource(amounts)?.role === 'whole'),
    ...(outliers.steps > 0 ? note('long-steps', long, consequence) : []),
    ...known('collectives-in-full', time.comms_transfer > 0),
  ];
}

function aboutInput({ amounts, records, periods, exposed, stepIsWhole }: NoteFacts): CheckResult[] {
  if (!records.phases.some((p) => p.role === 'data')) {
    const where = stepIsWhole ? 'in the unexplained part of the step' : 'outside the step';
    return note('no-data-wait', 'data_wait was not recorded', `waiting for input, if any, is ${where}`);
  }
  const isCertain = periods.source === 'start-times' && amounts.compute.device > 0;
  if (amounts.data.host === 0 || isCertain) return [];
  const consequence =
    exposed === null
      ? 'it counts in full, though the GPU may have worked meanwhile'
      : `steps grow by ${formatWholePercent(share(exposed))} of it, and that part counts`;
  return note('data-wait-on-host', 'data_wait was timed by the host', consequence);
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

function aboutStep({ periods: { source, layout, steps, warmUp }, amounts }: NoteFacts): CheckResult[] {
  const isTimed = source === 'training_step';
  const first = warmUp === 1 ? 'step' : `${warmUp} steps`;
  return [
    ...known('step-from-parts', isTimed && layout === 'beside'),
    ...known('waits-in-step', isTimed && layout === 'whole' && total(amounts, WAIT_ROLES) > 0),
    ...known('step-from-phases', source === 'sum-of-phases'),
    ...(warmUp > 0 ? note('warm-up', `the first ${first} took far longer`, 'left out as warm-up') : []),
    ...known('few-steps', steps.length < 3),
  ];
}

function aboutRecords({ records: { phases, dropped } }: NoteFacts): CheckResult[] {
  const own = phases.filter((p) => p.role === 'own').map((p) => p.name);
  const more = own.length > MAX_NAMED ? ` and ${own.length - MAX_NAMED} more` : '';
  const named = own.slice(0, MAX_NAMED).join(', ') + more;
  return [
    ...(own.length > 0
      ? note('own-phases', `the job’s own phases: ${named}`, 'what they do is not known')
      : []),
    ...found('note', 'no-duration', dropped, 'records without a usable duration', 'they were left out'),
  ];
}
