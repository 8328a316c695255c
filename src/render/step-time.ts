import {
  formatDuration,
  formatInScale,
  formatTime,
  formatWholePercent,
  type Ms,
  ms,
  type Share,
  share,
  timeScale,
} from '../base/units.js';
import { CLASS_NAMES, TIME_CLASSES, type TimeClass } from '../facts/time-class.js';
import type { Report, ReportJob, ReportStep, TimeShares } from '../report/report.js';
import type { Finding } from '../rules/kit/finding.js';

export { CLASS_NAMES } from '../facts/time-class.js';

/** Phases of the job as people call them. The job's own names stay as they are. */
const PHASE_NAMES: ReadonlyMap<string, string> = new Map([
  ['steps', 'training steps'],
  ['end', 'after the last step'],
  ['checkpoint', 'checkpoints'],
  ['gc', 'garbage collection'],
  ['compile', 'compiling'],
  ['no_grad', 'calls without gradients'],
  ['scheduler', 'learning-rate schedule'],
]);
/** Smaller parts of a step are not shown. */
const MIN_SHARE = 0.005;

/** The classes worth showing, largest first. */
export function largestShares(time: TimeShares): { readonly name: string; readonly share: Share }[] {
  return largestFirst(TIME_CLASSES.map((c) => ({ name: CLASS_NAMES[c], share: time[c] })));
}

const largestFirst = <T extends { readonly share: Share }>(parts: readonly T[]): T[] =>
  parts.filter(({ share }) => share >= MIN_SHARE).sort((a, b) => b.share - a.share);

/** `161 ms = compute 8 · input wait 149`: the parts in the unit and precision of the whole. */
export function stepSplit(step: Ms, time: TimeShares, named: ReportStep['parts'] = []): string {
  const scale = timeScale(step);
  const parts = largestFirst(stepParts(step, time, named)).map(
    ({ name, share }) => `${name} ${formatInScale(ms(share * step), scale)}`,
  );
  return parts.length > 0 ? `${formatTime(step)} = ${parts.join(' · ')}` : formatTime(step);
}

/** What figures are about. */
export const stepLabel = ({ whole_window }: ReportStep): string => (whole_window ? 'recording' : 'step');

/** A part of the step: a class of time, or a part with a name of its own (`class: null`). */
export interface StepPart {
  readonly name: string;
  readonly class: TimeClass | null;
  readonly share: Share;
}

/** Parts with a name, instead of the classes that they count as. */
export function stepParts(step: Ms, time: TimeShares, parts: ReportStep['parts']): StepPart[] {
  const isCompile = (name: string) => name === 'compile';
  const sum = (wanted: boolean) =>
    parts.reduce((all, p) => all + (isCompile(p.name) === wanted ? p.ms / step : 0), 0);
  const rest = {
    ...time,
    idle_compile: share(Math.max(0, time.idle_compile - sum(true))),
    idle_host: share(Math.max(0, time.idle_host - sum(false))),
  };
  const classes = TIME_CLASSES.map((c) => ({ name: CLASS_NAMES[c], class: c, share: rest[c] }));
  const named = parts.map((p) => ({ name: phaseName(p.name), class: null, share: share(p.ms / step) }));
  return [...classes, ...named];
}

export const phaseName = (name: string): string => PHASE_NAMES.get(name) ?? name;

/** `of 31 min 2 s: 74% training steps · 18% checkpoints · 8% start-up`. Empty without a measured wall time. */
export function jobSplit(job: ReportJob | null): string {
  if (!job) return '';
  const parts = job.phases
    .filter(({ share }) => share >= MIN_SHARE)
    .map(({ name, share }) => `${formatWholePercent(share)} ${phaseName(name)}`);
  return `of ${formatDuration(job.wall_s)}: ${parts.join(' · ')}`;
}

/** The step time with and without the profiler, the steps it was measured on, and whose time its parts are. */
export function stepSource(report: Pick<Report, 'step' | 'critical_path' | 'ranks' | 'many_ranks'>): string {
  const { step, critical_path } = report;
  const parts = step.profiled_ms === null ? [] : [profilerCost(step, step.profiled_ms)];
  if (!step.whole_window && step.first !== null && step.last !== null && step.count > 0)
    parts.push(
      step.first === step.last ? `step ${step.first}` : `${step.count} steps, ${step.first}–${step.last}`,
    );
  // Findings tell what a rank does; waiting for others is longer there, and what it hides shorter.
  if (critical_path) parts.push(`along the critical path of ${rankCount(report)} ranks`);
  return parts.join(' · ');
}

function profilerCost({ ms: step, corrected, source, parts }: ReportStep, profiled: Ms): string {
  const text = `${formatTime(profiled)} under the profiler`;
  if (step === null || !(corrected || source === 'events')) return text;
  // A window of a few steps has little of the time between them.
  const training = ms(parts.reduce((left, p) => (p.between ? left - p.ms : left), step as number));
  const without = formatTime(training);
  if (without === formatTime(profiled)) return `${text}, the same without it (${how(corrected)})`;
  // Its steps are others, then, or the machine was busier.
  if (training > profiled)
    return corrected
      ? text
      : `${formatTime(profiled)} in the recorded window, ${without} in the run (measured)`;
  return `${text}, ${without} without it (${how(corrected)})`;
}

const how = (corrected: boolean) => (corrected ? 'estimated' : 'measured');

/** `161 → 14–20 ms  ×8.1–11`. Only the factors when the step time is not known. */
export function gain(speedup: Finding['speedup'], step: Ms | null): string {
  if (speedup === null) return 'gain unknown';
  const factors = `×${range(factor(speedup.low), factor(speedup.high))}`;
  if (step === null) return factors;
  const scale = timeScale(step);
  const slowest = ms(step / speedup.low);
  const after = { ...scale, decimals: Math.max(scale.decimals, twoDigits(slowest * scale.perMs)) };
  const to = range(formatInScale(ms(step / speedup.high), after), formatInScale(slowest, after));
  return `${formatInScale(step, scale)} → ${to} ${scale.unit}  ${factors}`;
}

/** Decimals that keep two significant digits of an estimate, even if the step it comes from has no decimals. */
const twoDigits = (value: number) => (value >= 10 ? 0 : value >= 1 ? 1 : 2);

const factor = (x: number) => x.toFixed(x >= 10 ? 0 : x >= 2 ? 1 : 2);

const range = (low: string, high: string) => (low === high ? low : `${low}–${high}`);

/** How many ranks were measured, listed or not. */
export const rankCount = ({ ranks, many_ranks }: Pick<Report, 'ranks' | 'many_ranks'>): number =>
  many_ranks?.ranks ?? ranks.length;

/** What stands in place of fixes. What limits a GPU that computes is below it. */
export function noFix({ verdict, hardware }: Pick<Report, 'verdict' | 'hardware'>): string {
  if (verdict.bottleneck === 'gpu' && hardware)
    return hardware.done
      ? 'No fix is needed: the GPU computes, close to what it can do.'
      : 'No fix that whyslow knows applies. What is left is in the kernels: see how far they are from the hardware.';
  return verdict.bottleneck === 'compute'
    ? 'No fix that whyslow knows applies: the time goes into the computing itself. The lines below show where.'
    : 'The evidence supports no particular fix.';
}
