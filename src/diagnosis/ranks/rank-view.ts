import type { CheckResult } from '../../base/check.js';
import { type Ns, ns } from '../../base/units.js';
import { type DeviceRates, findDevice } from '../../facts/device-rates.js';
import type { CopyTime, RankFacts } from '../../facts/rank-facts.js';
import { sumOfClasses, type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import type { LogFacts } from '../../logs/log-facts.js';
import { type Baseline, baselineOf, recordingOf } from '../../replay/recording-cost.js';
import type { TraceFacts } from '../../traces/trace-facts.js';

/** One rank: its facts, and its step time without the profiler. */
export type RankView = TraceView | LogView;

export interface TraceView extends ViewOf<TraceFacts> {
  readonly source: 'trace';
  readonly rates: DeviceRates | null;
  /** Null when the trace cannot be replayed. */
  readonly baseline: Baseline | null;
}

export interface LogView extends ViewOf<LogFacts> {
  readonly source: 'log';
}

interface ViewOf<Facts extends RankFacts> {
  readonly rank: number;
  readonly facts: Facts;
  /** ns per step without the profiler, and how it divides. */
  readonly step: Ns;
  readonly time: TimeByClass;
  /** Exposed copies in it, by direction. */
  readonly copies: CopyTime;
  /** Measured without the profiler by an event log. False: estimated. */
  readonly measuredUnprofiled: boolean;
  /** What the event log could not tell. */
  readonly notes: readonly CheckResult[];
}

/** A step measured without the profiler, by an event log. ns. */
export interface Unprofiled {
  readonly step: Ns;
  readonly time: TimeByClass;
  readonly notes: readonly CheckResult[];
}

/** A log is recorded without the profiler: its step needs no correction. */
export function viewLog(rank: number, facts: LogFacts, { step, notes }: Unprofiled): LogView {
  return {
    source: 'log',
    rank,
    facts,
    step,
    time: scaleTo(facts.time, step),
    copies: facts.copies,
    measuredUnprofiled: true,
    notes,
  };
}

/** Takes the step without the profiler from an event log where there is one, else estimates it. */
export function viewTrace(rank: number, facts: TraceFacts, unprofiled: Unprofiled | null): TraceView {
  const plan = facts.detail?.plan ?? null;
  const baseline = plan ? baselineOf(plan, recordedStep(facts), unprofiled?.step ?? null) : null;
  const step = unprofiled?.step ?? ns(correctedStep(facts, baseline));
  return {
    source: 'trace',
    rank,
    facts,
    baseline,
    step,
    measuredUnprofiled: unprofiled !== null,
    notes: unprofiled?.notes ?? [],
    rates: facts.device ? findDevice(facts.device.name, facts.device.totalMemory) : null,
    time: correctTime(facts, baseline, step, unprofiled?.time ?? null),
    copies: correctCopies(facts, baseline),
  };
}

/** The detail window may hold fewer steps than the figures are over. Its replay is compared with the mean of its own steps. */
function recordedStep(facts: TraceFacts): number {
  const { steps } = facts.detail!.plan!;
  const periods = facts.steps.periods.slice(0, steps.wholeFirst ? steps.length : steps.length - 1);
  return periods.reduce((a, b) => a + b, 0) / periods.length;
}

/** Recording has never slowed a loop so much that less than this share was left (the worst loop of the zoo: 0.6). */
const LEAST_LEFT = 0.4;

function correctedStep(facts: TraceFacts, baseline: Baseline | null): number {
  const { profiled } = facts.steps;
  if (baseline?.faithful)
    return Math.max(profiled * LEAST_LEFT, profiled - (baseline.replayed - baseline.corrected));
  if (!facts.detail) return profiled;
  const { perEvent, perFrame } = recordingOf(facts.detail.plan).likely;
  // There is no plan to replay. Subtract what recording cost the host, but never more than the device was idle.
  const perStep = (facts.detail.events * perEvent + facts.detail.frames * perFrame) / facts.detail.steps;
  const idle = ['idle_host', 'idle_sync', 'idle_other'] as const;
  const slack = facts.hasGpuWork ? idle.reduce((ns, c) => ns + facts.time[c], 0) : profiled;
  return Math.max(profiled * LEAST_LEFT, profiled - Math.min(perStep, slack));
}

/** Recording costs host time. It is taken off these classes, in this order. */
const SLOWED_BY_RECORDING: readonly TimeClass[] = [
  'idle_host',
  'idle_sync',
  'idle_other',
  'idle_compile',
  'idle_data',
  'idle_comms',
];

const WAITS: readonly TimeClass[] = ['idle_data', 'copy', 'idle_sync', 'comms_transfer', 'idle_comms'];

/** Busy time comes from the replay, idle time from the recording less what the profiler caused. */
function correctTime(
  facts: TraceFacts,
  baseline: Baseline | null,
  step: number,
  measured: TimeByClass | null,
): TimeByClass {
  const corrected = { ...facts.time } as Record<TimeClass, number>;
  if (baseline?.faithful) {
    const { busyRecorded: before, busyCorrected: after } = baseline;
    corrected.compute *= ratio(after.compute, before.compute);
    corrected.comms_transfer *= ratio(after.comms, before.comms);
    corrected.copy *= ratio(after.copy, before.copy);
  }
  let excess = sumOfClasses(totals((c) => corrected[c])) - step;
  for (const c of SLOWED_BY_RECORDING) {
    if (excess <= 0) break;
    const taken = Math.min(excess, corrected[c]);
    corrected[c] -= taken;
    excess -= taken;
  }
  // A few recorded steps may miss waits that a log of many steps has: the loader filled its queue while the profiler started.
  for (const c of measured ? WAITS : []) {
    if (excess >= 0) break;
    const missing = Math.min(-excess, Math.max(0, measured![c] - corrected[c]));
    corrected[c] += missing;
    excess += missing;
  }
  // The measured step may still be longer than the recorded one, or shorter than the device was busy. Then all classes scale.
  const divided = totals((c) => corrected[c]);
  return sumOfClasses(divided) > 0 ? scaleTo(divided, step) : scaleTo(facts.time, step);
}

/** The same division of another step. All 0 where nothing was recorded. */
function scaleTo(time: TimeByClass, step: number): TimeByClass {
  const total = sumOfClasses(time);
  return totals((c) => (total > 0 ? (time[c] * step) / total : 0));
}

const ratio = (after: number, before: number) => (before > 0 ? after / before : 1);

function correctCopies(facts: TraceFacts, baseline: Baseline | null): CopyTime {
  if (!baseline?.faithful) return facts.copies;
  const { busyRecorded: before, busyCorrected: after } = baseline;
  return {
    toDevice: ns(facts.copies.toDevice * ratio(after.toDevice, before.toDevice)),
    toHost: ns(facts.copies.toHost * ratio(after.toHost, before.toHost)),
  };
}
