import {
  CoverageCursor,
  NO_SPANS,
  type Spans,
  SpanUnion,
  subtract,
  union,
  unionOf,
} from '../base/intervals.js';
import { mean as meanOf } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { cutTimeline, type RankTimeline } from '../facts/rank-timeline.js';
import { sumOfClasses, TIME_CLASSES, type TimeByClass, type TimeClass, totals } from '../facts/time-class.js';
import { computeSource } from './divide.js';
import type { PhaseRole } from './phases.js';
import type { StepPeriods } from './step-periods.js';
import type { Amounts, RankRecords, RecordedPhase, RecordedStep } from './step-records.js';

export interface DividedSteps {
  /** One per period; each adds up to its period. */
  readonly perStep: readonly TimeByClass[];
  /** Time per step in which the host set the pace; part of `idle_host`. Null: the log has no lags. */
  readonly hostPaced: Ns | null;
  readonly timeline: RankTimeline;
}

/**
 * Divides steps by when their phases ran: an instant belongs to the first class that claims it. Null if that cannot be
 * done: a start time is missing; the run was resumed; or waits were timed by the host, and computing only as part of the
 * whole step, which covers the waits whether the device worked meanwhile or not.
 */
export function divideBySpans(
  records: RankRecords,
  periods: StepPeriods,
  mean: Amounts,
): DividedSteps | null {
  const { starts, ns: lengths } = periods;
  const source = computeSource(mean);
  if (!starts || source?.clock !== 'device') return null;
  const hostWaits = mean.data.host + mean.copy.host + mean.metrics.host;
  if (source.role === 'whole' && hostWaits > 0) return null;
  const { generation } = periods.steps[0]!;
  if (periods.steps.some((s) => s.generation !== generation)) return null;
  // Also steps that do not count: their phases may reach into steps that do.
  const steps = records.steps.filter((s) => s.generation === generation);
  if (steps.some((s) => [...s.parts.values()].flat().some((p) => Number.isNaN(p.start)))) return null;

  const paced = records.allHost ? null : findPacedSpans(steps, meanOf(lengths));
  const spans = Object.fromEntries(TIME_CLASSES.map((c) => [c, NO_SPANS])) as Record<TimeClass, Spans>;
  let covered: Spans = NO_SPANS;
  for (const [name, claimed] of claims(records, steps, source.role, paced ?? NO_PACED_SPANS)) {
    spans[name] = union(spans[name], subtract(claimed, covered));
    covered = union(covered, claimed);
  }
  const ends = starts.map((start, i) => start + lengths[i]!);
  spans.idle_other = subtract(unionOf(starts.map((start, i) => [start, ends[i]!])), covered);
  const perStep = timePerStep(spans, starts, lengths);
  return {
    perStep,
    hostPaced: paced && ns(meanOf(perStep.map((t) => t.idle_host))),
    timeline: cutTimeline({ spans, stepFrom: starts, stepTo: ends, arrivals: [] }),
  };
}

function timePerStep(
  spans: Readonly<Record<TimeClass, Spans>>,
  starts: readonly number[],
  lengths: readonly number[],
): TimeByClass[] {
  const cursors = TIME_CLASSES.map((c) => new CoverageCursor(spans[c]));
  return starts.map((start, i) => {
    const length = lengths[i]!;
    const time = totals((c) => cursors[TIME_CLASSES.indexOf(c)]!.covered(start, start + length));
    const sum = sumOfClasses(time);
    // Start times are large numbers: their rounding must not show in the sum.
    if (sum > length) return totals((c) => (time[c] * length) / sum);
    return totals((c) => (c === 'idle_other' ? time[c] + length - sum : time[c]));
  });
}

/** The time that each class claims. An instant belongs to the first claim on it. */
function claims(
  records: RankRecords,
  steps: readonly RecordedStep[],
  computing: 'compute' | 'whole',
  paced: PacedSpans,
): [TimeClass, Spans][] {
  const byPhase = records.phases.map((): [start: number, end: number][] => []);
  for (const { parts } of steps) {
    for (const [phase, list] of parts) for (const p of list) byPhase[phase]!.push([p.start, p.start + p.ns]);
  }
  const spansOf = (isWanted: (phase: RecordedPhase) => boolean) =>
    unionOf(byPhase.filter((_, phase) => isWanted(records.phases[phase]!)).flat());
  const of = (role: PhaseRole, onHost = false) => spansOf((p) => p.role === role && p.onHost === onHost);
  const isHostWork = (p: RecordedPhase) =>
    (records.allHost || p.onHost) && ['compute', 'whole', 'own'].includes(p.role);
  const waits: [TimeClass, Spans][] = [
    ['idle_data', of('data')],
    ['copy', of('copy')],
    ['idle_sync', of('metrics')],
  ];
  // A wait also leaves the device without work, and it says why.
  const byHost = waits.reduce((spans, [, wait]) => subtract(spans, wait), paced.byHost);
  return [
    ['comms_transfer', spansOf((p) => p.role === 'comms')],
    ['idle_host', byHost],
    // Before copies: the next batch may be copied in its own stream while the model computes.
    ['compute', of('compute')],
    ...waits,
    ['compute', computing === 'whole' ? of('whole') : NO_SPANS],
    ['idle_data', of('data', true)],
    ['copy', of('copy', true)],
    ['idle_sync', of('metrics', true)],
    // Work outside all phases, e.g. clipping: the device is busy, with what is not known.
    ['compute', paced.byDevice],
    ['idle_host', spansOf(isHostWork)],
  ];
}

/** Who set the pace, for logs that record how far the device was behind the host. */
interface PacedSpans {
  /** The device had finished all queued work when the host reached the next mark. */
  readonly byHost: Spans;
  /** The device still had work then: it was busy, or held by a collective. */
  readonly byDevice: Spans;
}

const NO_PACED_SPANS: PacedSpans = { byHost: NO_SPANS, byDevice: NO_SPANS };

/** A lag below this is none: a mark takes the device 0.01–0.05 ms itself (H200), and its last kernel may still run. */
const CAUGHT_UP_NS = 100_000;
/** The same as a share of the step: less is noise. */
const CAUGHT_UP_SHARE = 0.02;

/** The host set it at `at − lag`, the device reached it at `at`. ns. */
interface Mark {
  readonly at: number;
  readonly lag: number;
}

/**
 * Between two marks the device took T and the host H, so the lag grew by T − H. All work between them was queued when the
 * host set the second mark, so the device had no reason to idle during the last `lag` ns before it reached it. Before that
 * the host was still launching. A device that computes longer than the host launches falls behind; one that does not has
 * caught up at the end. So the host set the pace where no lag is left, and the device where some is. How long the device
 * was busy in the host's time is unknown: at most all of it can be won back. A wait for the device at the end of a phase
 * (`.item()`) also leaves no lag.
 *
 * `step`: ns. Null: the log has no lags.
 */
export function findPacedSpans(steps: readonly RecordedStep[], step: number): PacedSpans | null {
  const marks = marksOf(steps);
  if (marks.length < 2) return null;
  const caughtUp = Math.max(CAUGHT_UP_NS, CAUGHT_UP_SHARE * step);
  const host = new SpanUnion();
  const all = new SpanUnion();
  for (let i = 1; i < marks.length; i++) {
    const [from, { at, lag }] = [marks[i - 1]!.at, marks[i]!];
    all.add(from, at);
    if (lag <= caughtUp) host.add(from, at - Math.max(0, lag));
  }
  const byHost = host.finish();
  return { byHost, byDevice: subtract(all.finish(), byHost) };
}

/** Both ends of every record that has a lag, in the device's order. */
function marksOf(steps: readonly RecordedStep[]): Mark[] {
  return steps
    .flatMap(({ parts }) => [...parts.values()].flat())
    .filter(({ start, hostNs, lag }) => !Number.isNaN(start + hostNs + lag))
    .flatMap(({ start, ns, hostNs, lag }) => [
      { at: start, lag: lag - ns + hostNs },
      { at: start + ns, lag },
    ])
    .sort((a, b) => a.at - b.at);
}
