import { type CheckResult, found } from '../../base/check.js';
import { formatCount, formatMs, formatWholePercent, type Ns, ns } from '../../base/units.js';
import type { JobTime } from '../../facts/job-time.js';
import type { CopyTime, PhaseKnowledge } from '../../facts/rank-facts.js';
import { sharesOfClasses, type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';

/**
 * Where a log of many steps and a trace of few disagree, each is used for what it knows: the log says how long a step takes
 * and how much of it is waiting, the trace what happens inside.
 */

/** Steps that differ by a larger factor are not the same steps: others wait, evaluate or save, or a profiler holds them up. */
const ALIKE = 1.5;
/** A log of a job without GPU that finds this share of a step more outside the model than the trace has seen other work. */
const MORE_OUTSIDE = 0.25;

/** How long a step may take without the profiler, by the trace alone, and how long the recorded ones took. */
export interface OwnStep {
  readonly least: number;
  readonly most: number;
  readonly recorded: Ns;
  readonly time: TimeByClass;
}

/** A step that an event log measured without the profiler. */
export interface Unprofiled {
  readonly step: Ns;
  readonly time: TimeByClass;
  readonly steps: number;
  readonly knowledge: PhaseKnowledge;
  readonly job: JobTime | null;
  readonly notes: readonly CheckResult[];
}

/** In what the trace's steps differ from those of the log, beyond what recording explains. Null: they are alike. */
export function differenceOf({ step, time, knowledge }: Unprofiled, own: OwnStep): 'step' | 'model' | null {
  if (step > ALIKE * own.most || ALIKE * step < own.least) return 'step';
  // A log without a phase of the model does not know how long it takes.
  const isSeenByLog =
    knowledge.allHost &&
    time.compute > 0 &&
    modelShare(own.time) - computing(step, time, own) / step > MORE_OUTSIDE;
  return isSeenByLog ? 'model' : null;
}

/**
 * A log without GPU times the model's own phases. Operators outside of them (a teacher under no_grad, a loss, augmentation)
 * look like Python to it; the trace sees that they compute.
 */
function computing(step: Ns, { compute, idle_host, idle_other }: TimeByClass, own: OwnStep): number {
  const seen = own.time.compute * Math.min(1, step / own.recorded);
  return Math.max(compute, Math.min(seen, compute + idle_host + idle_other));
}

const modelShare = (time: TimeByClass) => sharesOfClasses(time).compute;

/** What the phases of a log hold without telling it apart: all that a trace sees inside the model's phases. */
const INSIDE: readonly TimeClass[] = ['compute', 'idle_host', 'idle_sync', 'idle_compile'];

/** A step as a trace divides it. */
interface TracedStep {
  readonly time: TimeByClass;
  readonly seesGpu: boolean;
}

/**
 * The log's division of a step, with what the trace sees inside its phases. On a job without GPU the log is exact, if it
 * timed the model. Else a phase looks like computing, however idle the GPU is inside it; where lags were recorded, the log
 * knows in which part the host set the pace, and the GPU may compute in that part too.
 */
export function divideInside(log: TimeByClass, trace: TracedStep, knowledge: PhaseKnowledge): TimeByClass {
  // Only one of them recorded the GPU.
  if (trace.seesGpu === knowledge.allHost) return log;
  if (knowledge.allHost)
    return log.compute > 0 ? log : moved(log, trace.time, ['idle_other', 'idle_host'], INSIDE);
  const seen = INSIDE.reduce((sum, c) => sum + trace.time[c], 0);
  if (!(seen > 0)) return log;
  if (knowledge.hostPaced === null)
    return totals((c) => {
      const part = INSIDE.includes(c) ? (log.compute * trace.time[c]) / seen : 0;
      return c === 'compute' ? part : log[c] + part;
    });
  return moved(log, trace.time, ['idle_host'], ['compute', 'idle_compile', 'idle_sync']);
}

/** Moves time of the log to the classes that the trace shows more of, as far as `from` has any. */
function moved(
  log: TimeByClass,
  trace: TimeByClass,
  from: readonly TimeClass[],
  to: readonly TimeClass[],
): TimeByClass {
  const time = { ...log } as Record<TimeClass, number>;
  for (const target of to)
    for (const source of from) {
      if (source === target) continue;
      const taken = Math.min(time[source], Math.max(0, trace[target] - time[target]));
      time[source] -= taken;
      time[target] += taken;
    }
  return totals((c) => time[c]);
}

/** The trace knows which way copies go, the log how long they take. Without a trace of them, they count as copying the batch. */
export function directed(copy: Ns, { toDevice, toHost }: CopyTime): CopyTime {
  const known = toDevice + toHost;
  return {
    toDevice: ns(known > 0 ? (copy * toDevice) / known : copy),
    toHost: ns(known > 0 ? (copy * toHost) / known : 0),
  };
}

/** Says that steps with and without the profiler differ by more than half, and what follows. */
export function aboutDifference(
  { step, time, steps }: Unprofiled,
  own: OwnStep,
  differs: 'step' | 'model' | null,
) {
  const { recorded } = own;
  const log = `the event log of ${formatCount(steps, 'step')}`;
  const lengths = `a step takes ${formatMs(recorded)} in the trace and ${formatMs(step)} in ${log}`;
  const [inTrace, inLog] = [own.time, time].map((t) => formatWholePercent(modelShare(t)));
  const computing = `computing takes ${inTrace} of a step in the trace and ${inLog} in ${log}`;
  if (differs !== null)
    return found(
      'warning',
      'trace-differs',
      1,
      differs === 'step' ? lengths : computing,
      'the log says how the step divides; the trace only shows what happens inside the model’s phases',
    );
  return found(
    'note',
    'slowed-by-profiler',
    Number(recorded > ALIKE * step),
    lengths,
    'recording explains the difference; it is taken off the host’s time',
  );
}
