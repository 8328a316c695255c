import { partitionPoint } from '../../base/search.js';
import { largest, median, smallest } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { StepRange } from '../../facts/step-facts.js';
import { TIME_CLASSES, type TimeByClass, type TimeClass } from '../../facts/time-class.js';
import type { Trace } from '../../model/trace.js';
import type { GpuWork } from './gpu-work.js';
import { type HostSpans, OPTIMIZER_SPAN } from './host-spans.js';
import type { StepTimes } from './step-times.js';
import type { StepWindow } from './step-window.js';

/** A step that took far longer than the others, for a reason that the recording cannot show to come back. */
export interface OneOffStep {
  readonly index: number;
  readonly ts: number;
  readonly dur: Ns;
  /** Median of the other steps, and how many they are. */
  readonly usual: Ns;
  readonly others: number;
  /** The longest run of steps without it, and without others of its kind. */
  readonly without: StepRange;
  /** Kernels and copies that it launched outside of training, beyond those of the other steps. 0: it paused. */
  readonly extraWork: number;
}

/** Of fewer steps, one may be the one in every few. */
const LEAST_STEPS = 6;
const LEAST_LEFT = 3;
const FAR_LONGER = 2;
/** The others differ by no more. */
const ALIKE = 1.5;
/** Waiting for input, compiling and communication have patterns of their own, and more computing is more work. */
const PAUSES: readonly TimeClass[] = ['idle_host', 'idle_sync', 'idle_other'];
const MOST = 0.8;

export function findOneOff({ steps, bounds }: StepWindow, times: readonly TimeByClass[]): OneOffStep | null {
  if (steps.length < LEAST_STEPS) return null;
  const periods = steps.map((_, i) => bounds[i + 1]! - bounds[i]!);
  const dur = largest(periods);
  const at = periods.indexOf(dur);
  const others = periods.toSpliced(at, 1);
  const usual = median(others);
  if (!(dur > FAR_LONGER * usual) || largest(others) > ALIKE * usual) return null;
  const excess = (classes: readonly TimeClass[]) =>
    classes.reduce(
      (sum, c) => sum + Math.max(0, times[at]![c] - median(times.toSpliced(at, 1).map((t) => t[c]))),
      0,
    );
  if (excess(PAUSES) < MOST * excess(TIME_CLASSES)) return null;
  const [first, last] = longestRun(steps.length, [at]);
  if (last - first + 1 < LEAST_LEFT) return null;
  return {
    index: steps[at]!.index,
    ts: bounds[at]!,
    dur: ns(dur),
    usual: ns(usual),
    others: others.length,
    without: { first: steps[first]!.index, last: steps[last]!.index },
    extraWork: 0,
  };
}

/** A step launched this many times the usual work outside of backward and the optimizer, while those did what they always do. */
const FAR_MORE = 1.5;
const SAME = 0.2;
const LEAST_OTHERS = 3;

/**
 * Steps in which the job did something besides training: an evaluation, a checkpoint, histograms. Backward and optimizer launch
 * what they launch in every step, and the rest launches far more. Null if backward has no thread of its own, which is what tells it apart.
 */
export function findOtherWork(
  trace: Trace,
  work: GpuWork,
  host: HostSpans,
  times: StepTimes,
  { steps, bounds }: StepWindow,
): OneOffStep | null {
  if (steps.length <= LEAST_OTHERS) return null;
  const skipped = times.steps.length - steps.length;
  const launched = launchesByStep(trace, work, host, times).slice(skipped);
  const [rest, training] = [launched.map((l) => l.rest), launched.map((l) => l.training)];
  const [usualRest, usualTraining] = [median(rest), median(training)];
  const periods = steps.map((_, i) => bounds[i + 1]! - bounds[i]!);
  const usual = median(periods);
  const isOther = steps.map((_, i) => rest[i]! > FAR_MORE * usualRest && periods[i]! > ALIKE * usual);
  const at = isOther.flatMap((is, i) => (is ? [i] : []));
  const others = steps.length - at.length;
  const same = rest.filter((_, i) => !isOther[i]);
  if (at.length === 0 || others < LEAST_OTHERS || usualTraining === 0) return null;
  if (smallest(same) < (1 - SAME) * largest(same) || smallest(training) < (1 - SAME) * largest(training))
    return null;
  const [first, last] = longestRun(steps.length, at);
  if (last <= first) return null;
  return {
    index: steps[at[0]!]!.index,
    ts: bounds[at[0]!]!,
    dur: ns(periods[at[0]!]!),
    usual: ns(median(periods.filter((_, i) => !isOther[i]))),
    others,
    without: { first: steps[first]!.index, last: steps[last]!.index },
    extraWork: Math.round(rest[at[0]!]! - usualRest),
  };
}

/** What each step launched from backward (on a thread of its own) and in the optimizer, and what it launched besides. */
function launchesByStep(trace: Trace, work: GpuWork, host: HostSpans, { steps, stepOf }: StepTimes) {
  const { track, ts } = trace.data;
  const optimizer = host.ofKind(OPTIMIZER_SPAN);
  const counts = steps.map(() => ({ training: 0, rest: 0 }));
  for (let i = 0; i < work.length; i++) {
    const [s, call] = [stepOf[i]!, work.launchRow[i]!];
    if (call < 0 || s < 0 || s >= counts.length) continue;
    const before = partitionPoint(optimizer.length, (k) => optimizer[k]!.start <= ts[call]!) - 1;
    const inOptimizer = before >= 0 && ts[call]! <= optimizer[before]!.end;
    if (track[call] !== host.main || inOptimizer) counts[s]!.training++;
    else counts[s]!.rest++;
  }
  return counts;
}

/** First and last of the longest run of `count` steps without these; the later one of two. Last before first: there is none. */
function longestRun(count: number, without: readonly number[]): readonly [first: number, last: number] {
  let best: readonly [number, number] = [0, -1];
  let from = 0;
  for (const at of [...without, count]) {
    if (at > from && at - from >= best[1] - best[0] + 1) best = [from, at - 1];
    from = at + 1;
  }
  return best;
}
