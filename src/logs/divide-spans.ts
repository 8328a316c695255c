import { CoverageCursor, NO_SPANS, type Spans, subtract, union, unionOf } from '../base/intervals.js';
import { mean as meanOf } from '../base/statistics.js';
import type { Ns } from '../base/units.js';
import { cutTimeline, type RankTimeline } from '../facts/rank-timeline.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../facts/time-class.js';
import type { Amounts } from './amounts.js';
import { computeSource } from './divide.js';
import { findPacing, NO_PACING } from './pacing.js';
import type { PhaseRole } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import type { RankRecords, RecordedPhase, RecordedStep } from './step-records.js';

export interface DividedSteps {
  /** Parallel to the periods; each adds up to its period. */
  readonly perStep: readonly TimeByClass[];
  /** ns a step at the host's pace, in `idle_host`; null where the log has no lags. */
  readonly hostPaced: Ns | null;
  readonly timeline: RankTimeline;
}

/**
 * Divides steps by when phases ran; an instant belongs to the first class that covers it. Null when that cannot be done:
 * without all start times, over several starts of a run, or where waits are timed by the host and computing only as part
 * of the whole step, which covers the waits whether the device worked meanwhile or not.
 */
export function divideBySpans(
  records: RankRecords,
  periods: StepPeriods,
  mean: Amounts,
): DividedSteps | null {
  const { starts, ns } = periods;
  const source = computeSource(mean);
  if (!starts || source?.clock !== 'device') return null;
  const hostWaits = mean.data.host + mean.copy.host + mean.metrics.host;
  if (source.role === 'whole' && hostWaits > 0) return null;
  const { generation } = periods.steps[0]!;
  if (periods.steps.some((s) => s.generation !== generation)) return null;
  // Steps outside those that count too: their phases may reach into these.
  const steps = records.steps.filter((s) => s.generation === generation);
  if (steps.some((s) => [...s.parts.values()].some((parts) => parts.some((p) => Number.isNaN(p.start)))))
    return null;

  const length = ns.reduce((a, b) => a + b, 0) / ns.length;
  const pacing = records.allHost ? null : findPacing(steps, length);
  const byTurn = inTurn(records, spansByPhase(records, steps), source.role, pacing ?? NO_PACING);
  const spans = Object.fromEntries(TIME_CLASSES.map((c) => [c, NO_SPANS])) as Record<TimeClass, Spans>;
  let covered: Spans = NO_SPANS;
  for (const [name, claimed] of byTurn) {
    spans[name] = union(spans[name], subtract(claimed, covered));
    covered = union(covered, claimed);
  }
  const ends = starts.map((start, i) => start + ns[i]!);
  spans.idle_other = subtract(unionOf(starts.map((start, i) => [start, ends[i]!] as const)), covered);
  const perStep = timePerStep(spans, starts, ns);
  const hostPaced = meanOf(perStep.map((t) => t.idle_host));
  return {
    ...{ perStep, hostPaced: pacing && hostPaced },
    timeline: cutTimeline({ spans, stepFrom: starts, stepTo: ends, arrivals: [] }),
  };
}

function timePerStep(
  spans: Readonly<Record<TimeClass, Spans>>,
  starts: readonly number[],
  ns: readonly number[],
): TimeByClass[] {
  const cursors = TIME_CLASSES.map((c) => new CoverageCursor(spans[c]));
  return starts.map((start, i) => {
    const time = totals((c) => cursors[TIME_CLASSES.indexOf(c)]!.covered(start, start + ns[i]!));
    const sum = sumOfClasses(time);
    // Start times are large and lengths are not: what rounding took or gave must not show in the sum.
    if (sum > ns[i]!) return totals((c) => (time[c] * ns[i]!) / sum);
    return totals((c) => (c === 'idle_other' ? time[c] + ns[i]! - sum : time[c]));
  });
}

type SpansOf = (isWanted: (phase: RecordedPhase) => boolean) => Spans;

function spansByPhase(records: RankRecords, steps: readonly RecordedStep[]): SpansOf {
  const byPhase = records.phases.map((): [start: number, end: number][] => []);
  for (const step of steps) {
    for (const [place, parts] of step.parts) {
      for (const p of parts) byPhase[place]!.push([p.start, p.start + p.ns]);
    }
  }
  return (isWanted) => unionOf(byPhase.filter((_, place) => isWanted(records.phases[place]!)).flat());
}

/** What each class may claim, the first claim first. */
function inTurn(
  records: RankRecords,
  spansOf: SpansOf,
  computing: 'compute' | 'whole',
  pacing: { readonly byHost: Spans; readonly byDevice: Spans },
): [TimeClass, Spans][] {
  const of = (role: PhaseRole, onHost = false) => spansOf((p) => p.role === role && p.onHost === onHost);
  const isHosts = (p: RecordedPhase) =>
    (records.allHost || p.onHost) && ['compute', 'whole', 'own'].includes(p.role);
  const waits: [TimeClass, Spans][] = [
    ['idle_data', of('data')],
    ['copy', of('copy')],
    ['idle_sync', of('metrics')],
  ];
  // A wait leaves the device without work too, and says why.
  const paced = waits.reduce((spans, [, wait]) => subtract(spans, wait), pacing.byHost);
  return [
    ['comms_transfer', spansOf((p) => p.role === 'comms')],
    ['idle_host', paced],
    // Copies of the next batch on their own stream run while the model's phases do.
    ['compute', of('compute')],
    ...waits,
    ['compute', computing === 'whole' ? of('whole') : NO_SPANS],
    ['idle_data', of('data', true)],
    ['copy', of('copy', true)],
    ['idle_sync', of('metrics', true)],
    // Work outside of all phases: clipping, logging. What it does is not known, that the device is busy with it is.
    ['compute', pacing.byDevice],
    ['idle_host', spansOf(isHosts)],
  ];
}
