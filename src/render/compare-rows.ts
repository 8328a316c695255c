import { formatTime, type Ms, ms } from '../base/units.js';
import type { ChangedWork, CompareReport } from '../compare/compare-report.js';
import type { TimeClass } from '../facts/time-class.js';
import type { Speedup } from '../rules/kit/finding.js';
import { CLASS_NAMES } from './step-time.js';

/** What all ways of showing a comparison say, as cells of text. */

/** Classes that changed by less than this share of the step are not shown, unless all is asked for. */
const MATTERS = 0.005;

export interface TimeRow {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly difference: string;
  /** The same in ms, for a bar. Null: not known. */
  readonly delta: number | null;
  readonly class?: TimeClass;
}

const signed = (difference: number) =>
  Math.abs(difference) < 5e-4 ? '0' : `${difference < 0 ? '−' : '+'}${formatTime(ms(Math.abs(difference)))}`;

/** Nothing is nothing, whatever the unit. */
const timeText = (time: Ms | null) => (time === null ? '–' : time < 5e-4 ? '0' : formatTime(time));

export const rowOf = (name: string, before: Ms | null, after: Ms | null): TimeRow => ({
  name,
  before: timeText(before),
  after: timeText(after),
  difference: before === null || after === null ? '' : signed(after - before),
  delta: before === null || after === null ? null : after - before,
});

const changes = (before: number | null, after: number | null, step: number) =>
  Math.abs((after ?? 0) - (before ?? 0)) >= MATTERS * step;

export function timeRows({ time, step }: CompareReport): TimeRow[] {
  return time
    .filter((t) => Math.max(t.before_ms, t.after_ms) >= MATTERS * step.before_ms)
    .sort((a, b) => b.before_ms - a.before_ms)
    .map((t) => ({ ...rowOf(CLASS_NAMES[t.class], t.before_ms, t.after_ms), class: t.class }));
}

export const phaseRows = ({ phases, step }: CompareReport): TimeRow[] =>
  phases
    .filter((p) => changes(p.before_ms, p.after_ms, step.before_ms))
    .map((p) => rowOf(p.name, p.before_ms, p.after_ms));

export const lineRows = ({ host_lines }: CompareReport): TimeRow[] =>
  host_lines.map((l) => rowOf(`${l.name} ${l.source}`, l.before_ms, l.after_ms));

/** Ranks that changed otherwise than the step did: by this share of it. */
const OTHERWISE = 0.03;

export function rankRows({ ranks, step }: CompareReport): TimeRow[] {
  const usual = step.after_ms - step.before_ms;
  return ranks
    .filter((r) => Math.abs(r.after_ms - r.before_ms - usual) >= OTHERWISE * step.before_ms)
    .map((r) => rowOf(`rank ${r.rank}`, r.before_ms, r.after_ms));
}

/** `×12 3.40 ms`: calls and time per step. */
const amount = (count: number, time: Ms) =>
  count === 0
    ? '–'
    : `${count < 10 && count % 1 !== 0 ? count.toFixed(1) : Math.round(count)} × ${formatTime(ms(time / count))}`;

export interface WorkRow extends TimeRow {
  /** As it was recorded. */
  readonly fullName: string;
  /** Grid of the launches, with a space before it, or nothing. */
  readonly grid: string;
  readonly change: string;
  readonly beforeMs: number;
  readonly afterMs: number;
}

export const workRow = (w: ChangedWork): WorkRow => ({
  name: shortKernelName(w.name),
  fullName: w.name,
  grid: w.shape === null ? '' : ` ${w.shape}`,
  change: w.change.replace('-', ' '),
  before: amount(w.before_count, w.before_ms),
  after: amount(w.after_count, w.after_ms),
  difference: signed(w.after_ms - w.before_ms),
  delta: w.after_ms - w.before_ms,
  beforeMs: w.before_ms,
  afterMs: w.after_ms,
});

const times = (speedup: number) => `×${speedup.toFixed(speedup >= 10 ? 1 : 2)}`;

/** `×1.50 (×1.40 to ×1.70)`. */
export const rangeText = ({ low, likely, high }: Speedup): string =>
  low === high ? times(likely) : `${times(likely)} (${times(low)} to ${times(high)})`;

/** One line each: what is gone with prediction and outcome, what is new. `withIds`: to ask for them by id. */
export function findingLines({ findings }: CompareReport, withIds = false): string[] {
  const idOf = (id: string) => (withIds ? `[${id}] ` : '');
  const predicted = new Map(findings.predicted.map((p) => [p.id, p]));
  const gone = findings.gone.map(({ id, rule, title }) => {
    const found = predicted.get(id);
    if (!found) return `gone: ${idOf(id)}${title} (${rule})`;
    const range = rangeText(found.speedup);
    const outcome = found.measured === null ? '' : `, measured ${times(found.measured)}`;
    return `gone: ${idOf(id)}${title} (${rule}); predicted ${range}${outcome}`;
  });
  const { together } = findings;
  return [
    ...gone,
    ...(together
      ? [`together: predicted ${times(together.predicted)}, measured ${times(together.measured)}`]
      : []),
    ...findings.new.map(({ id, rule, title }) => `new: ${idOf(id)}${title} (${rule})`),
  ];
}

/** `compared with the last 6 good runs of 9`, and when the step time last changed for good. */
export function historyLines({ history }: CompareReport): string[] {
  if (!history) return [];
  const { change, compared, runs } = history;
  const lines = [`compared with the last ${compared} good of ${runs} runs`];
  if (change)
    lines.push(
      `the step time changed for good at ${change.at}${change.time === null ? '' : ` (${change.time.slice(0, 10)})`}: ${formatTime(change.before_ms)} → ${formatTime(change.after_ms)}, ${change.since} runs since`,
    );
  return lines;
}

/**
 * `void at::native::f<c10::Half>(int, float)` is `f<Half>`: return type, namespaces and parameters do not distinguish kernels.
 * Names that are no C++ signature, such as `aten::add_`, stay as they are.
 */
export function shortKernelName(name: string): string {
  // `Memcpy HtoD (Pinned -> Device)` has a space before its parentheses.
  if (!/\S[<(]/.test(name)) return name;
  return withoutParameters(name)
    .replace(/^void /, '')
    .replace(/\b(?:[A-Za-z_]\w*::)+(?=\w)/g, '');
}

/** Without the parentheses that end the name. Others may stand before them. */
function withoutParameters(name: string): string {
  if (!name.endsWith(')')) return name;
  let depth = 0;
  for (let i = name.length - 1; i > 0; i--) {
    if (name[i] === ')') depth++;
    if (name[i] === '(' && --depth === 0) return name.slice(0, i);
  }
  return name;
}
