import { formatCount, formatTime, ms } from '../base/units.js';
import type { ReportStep } from '../report/report.js';
import type { ComparedSetup } from './compare-report.js';
import { type RunProfile, type Setup, stepsOfRun } from './run-profile.js';
import type { SideTimes, StepComparison } from './step-times/step-comparison.js';

/** Steps of the sides that differ in number by more than this factor may be of different parts of the job. */
const FAR_FEWER = 4;

/** What else differs between the sides, and what the answer rests on. */
export function notesOf(sides: Sides, comparison: StepComparison, per: 'step' | 'sample'): string[] {
  return [
    ...setupNotes(sides, per),
    ...unitNotes(sides, per),
    ...sourceNotes(sides),
    ...stepNotes(comparison),
    ...pauseNote('before', comparison.before),
    ...pauseNote('after', comparison.after),
  ];
}

function setupNotes(sides: Sides, per: 'step' | 'sample'): string[] {
  return comparedSetup(sides).flatMap(({ name, before, after }) => {
    if (name === 'command' || before === null || after === null || before === after) return [];
    return [`${DIFFERENT[name]}: ${before} before, ${after} after${consequenceOf(name, per)}`];
  });
}

const DIFFERENT = {
  device: 'different devices',
  torch: 'different versions of torch',
  ranks: 'different numbers of ranks',
  'batch size': 'different batch sizes',
} as const;

function consequenceOf(name: keyof typeof DIFFERENT, per: 'step' | 'sample'): string {
  if (name === 'device') return "; the difference may be the machine's";
  if (name === 'ranks') return '; step times are compared as they are, not per sample of the job';
  return name === 'batch size' && per === 'sample' ? '; times are compared per sample' : '';
}

/** An iteration of several optimizer steps on one side only: their times cannot be compared. */
function unitNotes({ before, after }: Sides, per: 'step' | 'sample'): string[] {
  const unitOf = (runs: readonly RunProfile[]) =>
    [...new Set(runs.map(({ report }) => report.step.iteration?.text ?? 'one optimizer step'))].join(', ');
  const [was, is] = [unitOf(before), unitOf(after)];
  const compared = per === 'sample' ? '; times are compared per sample' : '';
  return was === is ? [] : [`a step is not the same on both sides: ${was} before, ${is} after${compared}`];
}

function sourceNotes({ before, after }: Sides): string[] {
  const isEstimated = ({ report }: RunProfile) => report.step.corrected;
  const [left, right] = [before.some(isEstimated), after.some(isEstimated)];
  if (!left && !right) return [];
  const which = left && right ? 'both sides' : left ? 'the side before' : 'the side after';
  return [
    `step times of ${which} are estimated from a trace, without the profiler's cost; event logs (whyslow run) measure them`,
  ];
}

function stepNotes({ before, after, drift, assumedSpread }: StepComparison): string[] {
  const [few, many] = before.steps < after.steps ? [before, after] : [after, before];
  return [
    ...(assumedSpread !== null && before.runs === 1 && after.runs === 1
      ? [
          `one run on each side does not show how much runs of the same code differ; ${(100 * assumedSpread).toPrecision(2)}% is assumed`,
        ]
      : []),
    ...(many.steps > FAR_FEWER * few.steps
      ? [`different numbers of steps: ${before.steps} before, ${after.steps} after`]
      : []),
    ...(drift > 0 ? [`step times drifted by up to ${(100 * drift).toFixed(1)}% within a run`] : []),
  ];
}

function pauseNote(side: string, { pauses, pausedMs, steps }: SideTimes): string[] {
  if (pauses === 0) return [];
  const cost = formatTime(ms(pausedMs));
  return [
    `${formatCount(pauses, 'rare pause')} among ${steps} steps ${side} ${pauses === 1 ? 'is' : 'are'} left out: ${cost} per step`,
  ];
}

/** Samples per step, if all runs of a side have as many. */
export function samplesOf(runs: readonly RunProfile[]): number | null {
  const sizes = new Set(
    runs.map(({ setup, report }) => setup.batchSize && setup.batchSize * batchesOf(report.step.iteration)),
  );
  const [size] = sizes;
  return sizes.size === 1 && size !== undefined && size !== null && size > 0 ? size : null;
}

/** One for each backward pass where gradients accumulate. In other loops a batch counts as one. */
const batchesOf = (iteration: ReportStep['iteration']): number =>
  iteration?.optimizer_steps === 1 && iteration.optimizers === 1 && !iteration.rollout
    ? Math.max(1, iteration.backward_passes)
    : 1;

/** Each run's steps, per sample where `samples` is given. */
export const timesOf = (runs: readonly RunProfile[], samples: number): number[][] =>
  runs.map((run) => stepsOfRun(run).map((time) => time / samples));

interface Sides {
  readonly before: readonly RunProfile[];
  readonly after: readonly RunProfile[];
}

const FIELDS = [
  ['device', 'device'],
  ['torch', 'torch'],
  ['worldSize', 'ranks'],
  ['batchSize', 'batch size'],
  ['command', 'command'],
] as const;

/** What the sides ran on. Left out: what neither of them recorded. */
export function comparedSetup({ before, after }: Sides): ComparedSetup[] {
  return FIELDS.map(([field, name]) => ({
    name,
    before: valuesOf(before, field),
    after: valuesOf(after, field),
  })).filter((s) => s.before !== null || s.after !== null);
}

function valuesOf(runs: readonly RunProfile[], field: keyof Setup): string | null {
  const known = new Set(runs.map(({ setup }) => setup[field]).filter((value) => value !== null));
  return known.size === 0 ? null : [...known].join(', ');
}
