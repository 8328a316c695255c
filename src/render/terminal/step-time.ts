import type { TimeClass } from '../../facts/time-class.js';
import type { ReportStep, TimeShares } from '../../report/report.js';
import type { Finding } from '../../rules/kit/finding.js';
import { formatMs } from './format.js';

/** Classes of time as people call them. */
const CLASS_NAMES: Readonly<Record<TimeClass, string>> = {
  compute: 'compute',
  comms_transfer: 'transfer',
  comms_wait: 'waiting for ranks',
  copy: 'copy',
  idle_data: 'input wait',
  idle_sync: 'sync',
  idle_compile: 'compile',
  idle_comms: 'collective wait',
  idle_host: 'host',
  idle_other: 'other',
};
export const className = (c: TimeClass) => CLASS_NAMES[c];
/** Smaller parts of a step are not worth a reader's time. */
const MIN_SHARE = 0.005;

export interface Share {
  readonly name: string;
  readonly fraction: number;
}

/** Largest first, without the negligible. */
export function largestShares(time: TimeShares): Share[] {
  return (Object.keys(CLASS_NAMES) as TimeClass[])
    .map((key) => ({ name: CLASS_NAMES[key], fraction: time[key] }))
    .filter((share) => share.fraction >= MIN_SHARE)
    .sort((a, b) => b.fraction - a.fraction);
}

/** `161 ms = compute 8 · input wait 149`: the parts in the unit and precision of the whole. */
export function stepSplit(stepMs: number, time: TimeShares): string {
  const scale = scaleOf(stepMs);
  const parts = largestShares(time).map((s) => `${s.name} ${inScale(s.fraction * stepMs, scale)}`);
  return parts.length > 0 ? `${formatMs(stepMs)} = ${parts.join(' · ')}` : formatMs(stepMs);
}

/** What the profiler made of the step, and on which steps it was measured. */
export function stepSource(step: ReportStep): string {
  const parts: string[] = [];
  if (step.profiled_ms !== null) parts.push(profiled(step, step.profiled_ms));
  if (step.first !== null && step.last !== null && step.count > 0) {
    parts.push(
      step.first === step.last ? `step ${step.first}` : `${step.count} steps, ${step.first}–${step.last}`,
    );
  }
  return parts.join(' · ');
}

function profiled(step: ReportStep, profiledMs: number): string {
  const text = `profiled ${formatMs(profiledMs)}`;
  if (step.ms === null) return text;
  if (step.corrected) return `${text}, corrected ${formatMs(step.ms)}`;
  return step.source === 'events'
    ? `${text}, without profiler ${formatMs(step.ms)}`
    : `${text}, not corrected`;
}

/** `161 → 14–20 ms  ×8.1–11`; the factors alone where the step is not known. */
export function gain(speedup: Finding['speedup'], stepMs: number | null): string {
  if (speedup === null) return 'gain not priced';
  const factors = `×${range(factor(speedup.low), factor(speedup.high))}`;
  if (stepMs === null) return factors;
  const scale = scaleOf(stepMs);
  const slowest = stepMs / speedup.low;
  const after = { ...scale, decimals: Math.max(scale.decimals, digitsFor(slowest * scale.perMs)) };
  const to = range(inScale(stepMs / speedup.high, after), inScale(slowest, after));
  return `${inScale(stepMs, scale)} → ${to} ${scale.unit}  ${factors}`;
}

interface Scale {
  readonly unit: string;
  readonly perMs: number;
  readonly decimals: number;
}

/** The unit `formatMs` takes for this value, with the decimals of three significant digits. */
function scaleOf(ms: number): Scale {
  const [unit, perMs] = ms >= 10_000 ? ['s', 1e-3] : ms < 1 ? ['µs', 1e3] : ['ms', 1];
  const value = ms * perMs;
  return { unit, perMs, decimals: value >= 100 ? 0 : value >= 10 ? 1 : 2 };
}

function inScale(ms: number, scale: Scale): string {
  return (ms * scale.perMs).toFixed(scale.decimals);
}

/** An estimate keeps two digits even where the step it is taken from has no decimals. */
function digitsFor(value: number): number {
  return value >= 10 ? 0 : value >= 1 ? 1 : 2;
}

function factor(x: number): string {
  return x >= 10 ? x.toFixed(0) : x >= 2 ? x.toFixed(1) : x.toFixed(2);
}

function range(low: string, high: string): string {
  return low === high ? low : `${low}–${high}`;
}
