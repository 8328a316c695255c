import type { CheckResult } from '../base/check.js';
import { findDevice } from '../facts/device-rates.js';
import { sumOfClasses, type TimeByClass, type TimeClass, totals } from '../facts/time-class.js';
import { type Baseline, baselineOf, recordingOf } from '../replay/recording-cost.js';
import type { RankFacts } from '../traces/rank-facts.js';
import type { RankView } from './run-facts.js';

/** Recording cannot have slowed a loop to less than this share of itself (the worst in the zoo: 0.6). */
const LEAST_LEFT = 0.4;

/** A step measured without the profiler, by an events log. ns. */
export interface Unprofiled {
  readonly step: number;
  readonly time: TimeByClass;
  readonly notes: readonly CheckResult[];
}

/** A rank's facts with its step as it is without the profiler: measured where an events log has it, else estimated. */
export function viewRank(rank: number, facts: RankFacts, unprofiled: Unprofiled | null): RankView {
  const plan = facts.detail?.plan ?? null;
  const baseline = plan ? baselineOf(plan, recordedStep(facts), unprofiled?.step ?? null) : null;
  const step = unprofiled?.step ?? correctedStep(facts, baseline);
  return {
    ...{ rank, facts, baseline, step, measuredUnprofiled: unprofiled !== null },
    notes: unprofiled?.notes ?? [],
    rates: facts.device ? findDevice(facts.device.name, facts.device.totalMemory) : null,
    time: correctTime(facts, baseline, step, unprofiled?.time ?? null),
    copies: correctCopies(facts, baseline),
  };
}

/** The detail window may hold fewer steps than the figures are over: its own mean is what its replay is held against. */
function recordedStep(facts: RankFacts): number {
  const { steps } = facts.detail!.plan!;
  const periods = facts.steps.periods.slice(0, steps.wholeFirst ? steps.length : steps.length - 1);
  return periods.reduce((a, b) => a + b, 0) / periods.length;
}

function correctedStep(facts: RankFacts, baseline: Baseline | null): number {
  const { profiled } = facts.steps;
  if (baseline?.faithful)
    return Math.max(profiled * LEAST_LEFT, profiled - (baseline.replayed - baseline.corrected));
  if (!facts.detail) return profiled;
  const { perEvent, perFrame } = recordingOf(facts.detail.plan).likely;
  // Without a plan to play: the host's time less what recording cost, but never less than the device was busy.
  const perStep = (facts.detail.events * perEvent + facts.detail.frames * perFrame) / facts.detail.steps;
  const idle = ['idle_host', 'idle_sync', 'idle_other'] as const;
  const slack = facts.hasGpuWork ? idle.reduce((ns, c) => ns + facts.time[c], 0) : profiled;
  return Math.max(profiled * LEAST_LEFT, profiled - Math.min(perStep, slack));
}

/** What recording costs is the host's time; only when that is used up can it have been anything else. */
const SLOWED_BY_RECORDING: readonly TimeClass[] = [
  ...(['idle_host', 'idle_sync', 'idle_other', 'idle_compile', 'idle_data', 'idle_comms'] as const),
];

const WAITS: readonly TimeClass[] = ['idle_data', 'copy', 'idle_sync', 'comms_transfer', 'idle_comms'];

/** The device's own time from the replay, idle time from what was seen, less what the profiler caused. */
function correctTime(
  facts: RankFacts,
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
  const sum = () => sumOfClasses(corrected);
  let excess = sum() - step;
  for (const c of SLOWED_BY_RECORDING) {
    if (excess <= 0) break;
    const taken = Math.min(excess, corrected[c]);
    corrected[c] -= taken;
    excess -= taken;
  }
  // A recording of a few steps may miss waits that the log of many has: batches prepared while the profiler started.
  for (const c of measured ? WAITS : []) {
    if (excess >= 0) break;
    const missing = Math.min(-excess, Math.max(0, measured![c] - corrected[c]));
    corrected[c] += missing;
    excess += missing;
  }
  // Measured steps may be longer than the profiled ones, or shorter than the device was busy: then all classes scale.
  const total = sum();
  if (total > 0) return totals((c) => (corrected[c] * step) / total);
  const recorded = sumOfClasses(facts.time);
  return totals((c) => (recorded > 0 ? (facts.time[c] * step) / recorded : 0));
}

const ratio = (after: number, before: number) => (before > 0 ? after / before : 1);

function correctCopies(facts: RankFacts, baseline: Baseline | null): RankView['copies'] {
  if (!baseline?.faithful) return facts.copies;
  const { busyRecorded: before, busyCorrected: after } = baseline;
  return {
    toDevice: facts.copies.toDevice * ratio(after.toDevice, before.toDevice),
    toHost: facts.copies.toHost * ratio(after.toHost, before.toHost),
  };
}
