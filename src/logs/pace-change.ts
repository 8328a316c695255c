import { mean, median } from '../base/statistics.js';
import { ns } from '../base/units.js';
import type { PaceChange } from '../facts/job-time.js';
import { TIME_CLASSES, type TimeByClass } from '../facts/time-class.js';
import type { StepPeriods } from './step-periods.js';

/** Steps on each side. With fewer, a pause looks like a change. */
const LEAST_SIDE = 8;
/** As a share of the recorded steps: what comes at the very end is how the job ends. */
const LEAST_PART = 0.1;
/** Smaller changes come and go on shared machines. */
const LEAST_RATIO = 1.3;
/** Of pairs of a step before and one after, so many must differ in the same direction. */
const CLEAR = 0.9;

/** Null: the steps are alike, too few, or long ones come all the time. */
export function paceChange(
  steps: readonly number[],
  periods: readonly number[],
  timePerStep: readonly TimeByClass[],
): PaceChange | null {
  const at = bestSplit(periods);
  if (at === null) return null;
  const [first, second] = [periods.slice(0, at), periods.slice(at)];
  const [before, after] = [median(first), median(second)];
  if (!(after >= LEAST_RATIO * before) || inOrder(first, second) < CLEAR) return null;
  const [end, begin] = [median(first.slice(-thirdOf(first))), median(second.slice(0, thirdOf(second)))];
  return {
    step: steps[at]!,
    before: ns(before),
    after: ns(after),
    isJump: begin >= Math.sqrt(after / before) * end,
    grew: grewMost(timePerStep.slice(0, at), timePerStep.slice(at)),
  };
}

const thirdOf = (list: readonly unknown[]) => Math.max(1, Math.floor(list.length / 3));

/** Where two levels explain the logarithms of the periods best. */
function bestSplit(periods: readonly number[]): number | null {
  const least = Math.max(LEAST_SIDE, Math.ceil(LEAST_PART * periods.length));
  const values = periods.map((p) => Math.log(Math.max(1, p)));
  const all = values.reduce((sum, v) => sum + v, 0);
  let [best, bestAt, sum] = [0, null as number | null, 0];
  for (let at = 1; at <= values.length - least; at++) {
    sum += values[at - 1]!;
    const difference = (all - sum) / (values.length - at) - sum / at;
    const explained = difference ** 2 * at * (values.length - at);
    if (at >= least && explained > best) [best, bestAt] = [explained, at];
  }
  return bestAt;
}

/** Part of the pairs in which the second is longer. */
function inOrder(first: readonly number[], second: readonly number[]): number {
  const sorted = first.toSorted((a, b) => a - b);
  let [below, shorter] = [0, 0];
  for (const value of second.toSorted((a, b) => a - b)) {
    while (below < sorted.length && sorted[below]! < value) below++;
    shorter += below;
  }
  return shorter / (first.length * second.length);
}

function grewMost(first: readonly TimeByClass[], second: readonly TimeByClass[]): PaceChange['grew'] {
  const rows = TIME_CLASSES.map((c) => {
    const [before, after] = [first, second].map((steps) => ns(mean(steps.map((time) => time[c]))));
    return { class: c, before: before!, after: after! };
  });
  const most = rows.reduce((a, b) => (b.after - b.before > a.after - a.before ? b : a));
  return most.after > most.before ? most : null;
}

/** Strides vary a little where steps are spread. */
const NEARLY = 0.75;

/** The distance of recorded steps in most of the run. */
function usualStride(numbers: readonly number[]): number {
  const strides = numbers.slice(1).flatMap((n, i) => (n > numbers[i]! ? [n - numbers[i]!] : []));
  const all = strides.reduce((sum, stride) => sum + stride, 0);
  let covered = 0;
  for (const stride of strides.toSorted((a, b) => a - b)) {
    covered += stride;
    if (covered >= all / 2) return stride;
  }
  return 1;
}

/** A dense beginning is thinned to the stride of the rest, so that each part of a run counts by its length. */
export function evenlySpread(periods: StepPeriods): StepPeriods {
  const numbers = periods.steps.map((s) => s.number);
  const stride = usualStride(numbers);
  let last = Number.NEGATIVE_INFINITY;
  const kept = numbers.map((n) => {
    const keeps = n >= last + NEARLY * stride || n < last;
    if (keeps) last = n;
    return keeps;
  });
  const only = <T>(list: readonly T[]) => list.filter((_, i) => kept[i]);
  return {
    ...periods,
    steps: only(periods.steps),
    amounts: only(periods.amounts),
    ns: only(periods.ns),
    starts: periods.starts && only(periods.starts),
  };
}
