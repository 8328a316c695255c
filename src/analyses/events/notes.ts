import type { TimeByClass } from '../timeline/accounting.js';
import { type Amounts, total } from './amounts.js';
import { computeSource } from './divide.js';
import type { Outliers } from './outliers.js';
import { WAIT_ROLES } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import type { RankRecords } from './step-records.js';

/** A doubt that holds for all computing seen through phases: a verdict of `gpu` from them alone is never certain. */
export const LAUNCH_NOTE = 'phases cannot tell computing from waiting for launches';

export interface NoteFacts {
  readonly records: RankRecords;
  readonly periods: StepPeriods;
  readonly amounts: Amounts;
  readonly step: number;
  /** Null: not asked, or it cannot be told. */
  readonly exposed: number | null;
  readonly stepIsWhole: boolean;
  /** Between recorded steps more time passes than a step takes. */
  readonly missed: boolean;
  readonly time: TimeByClass;
  readonly outliers: Outliers;
  /** ns a step; null: lags are not recorded. */
  readonly hostPaced: number | null;
}

const NAMED = 5;

/** What could not be told or was assumed, what matters most first. */
export function notesOf(facts: NoteFacts): string[] {
  return [...aboutComputing(facts), ...aboutInput(facts), ...aboutStep(facts), ...aboutRecords(facts)];
}

function aboutComputing({ amounts, records, periods, time, outliers, hostPaced, step }: NoteFacts): string[] {
  const source = computeSource(amounts);
  const notes: string[] = [];
  if (!source) notes.push('no phase of the model was recorded: computing cannot be told');
  else if (records.allHost) notes.push('all phases are timed by the host: right on a job without GPU only');
  else if (source.clock === 'host')
    notes.push('computing is timed by the host: what the device did cannot be told');
  else if (hostPaced === null) notes.push(LAUNCH_NOTE);
  else if (hostPaced > 0) {
    const share = Math.round((100 * hostPaced) / step);
    notes.push(
      `the device had nothing queued in ${share} % of the step: it was idle for an unknown part of it`,
    );
  }
  if (source?.role === 'whole') {
    notes.push('only the whole step was timed: what is not a recorded wait counts as computing');
  }
  if (outliers.steps > 0) {
    const share = `${outliers.steps} of ${periods.steps.length} steps`;
    notes.push(
      `${share} took over three times as long without a recorded wait: compilation or checkpoints do`,
    );
  }
  if (time.comms_transfer > 0)
    notes.push('collectives count in full, also where they overlap with computing');
  return notes;
}

function aboutInput({ amounts, records, periods, exposed, stepIsWhole }: NoteFacts): string[] {
  if (!records.phases.some((p) => p.role === 'data')) {
    const where = stepIsWhole ? 'in what is left of the step' : 'not in the step at all';
    return [`data_wait was not recorded: waiting for input would be ${where}`];
  }
  if (amounts.data.host === 0) return [];
  if (exposed !== null) {
    return [
      `data_wait is timed by the host: steps grow with ${Math.round(exposed * 100)} % of it, which counts`,
    ];
  }
  return periods.source === 'start-times' && amounts.compute.device > 0
    ? []
    : ['data_wait is timed by the host: it may be hidden behind the device and counts in full'];
}

function aboutStep({ periods, amounts, step, missed }: NoteFacts): string[] {
  const { source, layout, warmUp, acrossGaps } = periods;
  const notes: string[] = [];
  if (source === 'training_step' && layout === 'beside') {
    notes.push('training_step does not hold the waits before and after it: the step is their sum');
  } else if (source === 'training_step' && total(amounts, WAIT_ROLES) > 0) {
    notes.push('training_step is taken to hold the recorded waits');
  }
  if (source === 'sum-of-phases')
    notes.push('the step is the sum of its phases: time between them is missing');
  if (missed) {
    notes.push(
      `from one recorded step to the next ${ms(acrossGaps)} ms a step pass, the phases explain ${ms(step)} ms of them`,
    );
  }
  if (warmUp > 0) notes.push(`left out the first ${warmUp === 1 ? 'step' : `${warmUp} steps`}: warm-up`);
  if (periods.steps.length < 3) notes.push('fewer than three steps were recorded');
  return notes;
}

function aboutRecords({ records }: NoteFacts): string[] {
  const notes: string[] = [];
  const own = records.phases.filter((p) => p.role === 'own').map((p) => p.name);
  if (own.length > 0) {
    const names =
      own.slice(0, NAMED).join(', ') + (own.length > NAMED ? ` and ${own.length - NAMED} more` : '');
    notes.push(`what these phases do is not known: ${names}`);
  }
  if (records.dropped > 0) notes.push(`${records.dropped} records without a usable duration were left out`);
  return notes;
}

const ms = (ns: number) => (ns / 1e6).toPrecision(3);
