import { type CheckResult, found } from '../../base/check.js';
import { formatMs, type Ns, ns } from '../../base/units.js';
import type { CopyTime, PhaseKnowledge } from '../../facts/rank-facts.js';
import { type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';

/**
 * Where a log of many steps and a trace of few disagree, each is used for what it knows: the log says how long a step takes
 * and how much of it is waiting, the trace what happens inside.
 */

/** Steps that differ by a larger factor are not the same steps: others wait, evaluate or save, or a profiler holds them up. */
export const ALIKE = 1.5;

/** How long a step may take without the profiler, by the trace alone, and how long the recorded ones took. */
export interface OwnStep {
  readonly least: number;
  readonly most: number;
  readonly recorded: Ns;
}

/** Whether a measured step may be one that the trace recorded. */
export const isAlike = (step: number, { least, most }: OwnStep) =>
  step <= ALIKE * most && ALIKE * step >= least;

/** What the phases of a log hold without telling it apart: all that a trace sees inside the model's phases. */
const INSIDE: readonly TimeClass[] = ['compute', 'idle_host', 'idle_sync', 'idle_compile'];

/**
 * The log's division of a step, with what the trace sees inside its phases. On a job without GPU the log is exact. Else a
 * phase looks like computing, however idle the GPU is inside it; where lags were recorded, the log knows in which part the
 * host set the pace, and the GPU may compute in that part too. `trace`: null if it did not record the GPU.
 */
export function divideInside(
  log: TimeByClass,
  trace: TimeByClass | null,
  knowledge: PhaseKnowledge,
): TimeByClass {
  if (knowledge.allHost || !trace) return log;
  const seen = INSIDE.reduce((sum, c) => sum + trace[c], 0);
  if (!(seen > 0)) return log;
  if (knowledge.hostPaced === null)
    return totals((c) => {
      const part = INSIDE.includes(c) ? (log.compute * trace[c]) / seen : 0;
      return c === 'compute' ? part : log[c] + part;
    });
  const computed = Math.min(log.idle_host, Math.max(0, trace.compute - log.compute));
  let left = log.idle_host - computed;
  const inside: Partial<Record<TimeClass, number>> = {};
  for (const c of ['idle_compile', 'idle_sync'] as const) {
    inside[c] = Math.min(left, trace[c]);
    left -= inside[c];
  }
  return totals((c) => {
    if (c === 'compute') return log.compute + computed;
    return c === 'idle_host' ? left : log[c] + (inside[c] ?? 0);
  });
}

/** The trace knows which way copies go, the log how long they take. Without a trace of them they bring the batch. */
export function directed(copy: Ns, { toDevice, toHost }: CopyTime): CopyTime {
  const known = toDevice + toHost;
  return {
    toDevice: ns(known > 0 ? (copy * toDevice) / known : copy),
    toHost: ns(known > 0 ? (copy * toHost) / known : 0),
  };
}

/** Says that steps with and without the profiler differ by more than half, and what follows. */
export function aboutDifference(step: Ns, own: OwnStep, loggedSteps: number): readonly CheckResult[] {
  const { recorded } = own;
  const message = `a step takes ${formatMs(recorded)} in the trace and ${formatMs(step)} in the event log of ${loggedSteps} steps`;
  if (!isAlike(step, own))
    return found(
      'warning',
      'trace-differs',
      1,
      message,
      'the log says how the step divides; the trace only shows what happens inside the model’s phases',
    );
  return found(
    'note',
    'slowed-by-profiler',
    Number(recorded > ALIKE * step),
    message,
    'recording explains the difference; it is taken off the host’s time',
  );
}
