import { mean } from '../../base/statistics.js';
import { ns } from '../../base/units.js';
import type { CopyTime } from '../../facts/rank-facts.js';
import { sumOfClasses, type TimeByClass, type TimeClass, totals } from '../../facts/time-class.js';
import { addInputWaits } from '../../replay/edits.js';
import { copyPlan, type Plan } from '../../replay/plan.js';
import { type Baseline, baselineOf, costOfEvents, costOnCpu } from '../../replay/recording-cost.js';
import { AS_RECORDED, replay } from '../../replay/replay.js';
import { isFedByWorkers } from '../../traces/detail/loader-queue.js';
import type { TraceFacts } from '../../traces/trace-facts.js';
import type { OwnStep, Unprofiled } from './join-log.js';

/** The step of a trace without the profiler, and how it divides. */

/** The step by the trace alone, with waits that only the log has. */
export function ownStep(facts: TraceFacts, hidden: number): OwnStep {
  const plan = facts.detail?.plan ?? null;
  const baseline = plan && baselineOf(plan, recordedStep(facts, plan), null);
  const least = estimatedStep(facts, baseline && { ...baseline, unprofiled: baseline.unprofiledLow });
  const { recorded } = facts.steps;
  return { least: least + hidden, most: recorded + hidden, recorded, time: facts.time };
}

/** Shorter waits are within the noise of a step (the threshold of XProf and the TensorBoard plugin for input). */
const WAITS_MATTER = 0.05;

/**
 * Input waits per step that the log has and a short trace lacks: the prefetch queue filled while the profiler started, or
 * loading on the training thread took longer in other steps.
 */
export function hiddenWaits({ input, time }: TraceFacts, { step, time: measured }: Unprofiled): number {
  const hidden = measured.idle_data - time.idle_data;
  const loads = input.inWorkers > 0 || time.idle_data > WAITS_MATTER * step;
  return loads && hidden > WAITS_MATTER * step ? hidden : 0;
}

/** Puts the hidden waits into the plan: with them it takes as long as the log says. */
export function baselineWith(
  facts: TraceFacts,
  plan: Plan,
  unprofiled: Unprofiled | null,
  hidden: number,
): Baseline {
  const recorded = recordedStep(facts, plan);
  const byWorkers = unprofiled ? workersSetPace(facts, plan, unprofiled) : plan.pace > 0;
  const known = facts.unprofiledShare === null ? null : facts.unprofiledShare * recorded;
  if (hidden === 0) return baselineOf(plan, recorded, unprofiled?.step ?? known, byWorkers);
  const waiting = copyPlan(plan);
  addInputWaits(waiting, hidden);
  const longer = replay(waiting, AS_RECORDED).step - replay(plan, AS_RECORDED).step;
  return baselineOf(waiting, recorded + longer, unprofiled?.step ?? null, byWorkers);
}

/** Logs of steps that workers set wait for more than this share: 39% in a live job, 56% or more in the zoo. */
const WORKERS_PACE = 0.3;

/** Whether workers set the pace of the steps in the log. The few steps of the trace may have found the queue full. */
function workersSetPace({ input }: TraceFacts, { pace }: Plan, { step, time }: Unprofiled): boolean {
  const waits = time.idle_data / step;
  if (pace > 0) return waits >= WAITS_MATTER;
  return isFedByWorkers(input, input.restarts.length > 0, input.queue) && waits >= WORKERS_PACE;
}

/** Mean step of the detail window, which may have fewer steps than the figures. Its replay is compared with this. */
function recordedStep(facts: TraceFacts, { steps }: Plan): number {
  const periods = facts.steps.periods.slice(0, steps.includesFirst ? steps.length : steps.length - 1);
  return mean(periods);
}

/** Without the profiler a step takes at least this share of the recorded one (worst loop of the zoo: 0.4). */
export const LEAST_LEFT = 0.3;

/** The step without the profiler, by the trace alone. */
export function estimatedStep(facts: TraceFacts, baseline: Baseline | null): number {
  const { recorded } = facts.steps;
  if (facts.unprofiledShare !== null) return recorded * facts.unprofiledShare;
  if (baseline?.faithful)
    return Math.max(recorded * LEAST_LEFT, recorded - (baseline.replayed - baseline.unprofiled));
  if (!facts.detail) return recorded;
  const { plan, events, frames, steps, viewTime } = facts.detail;
  // Without a plan to replay, subtract the recording cost, but never more than the GPU was idle.
  if (!facts.hasGpuWork)
    return Math.max(recorded * LEAST_LEFT, recorded - costOnCpu(events, frames, viewTime) / steps);
  const perStep = costOfEvents(plan, events, frames) / steps;
  const idle = ['idle_host', 'idle_sync', 'idle_other'] as const;
  const slack = idle.reduce((ns, c) => ns + facts.time[c], 0);
  return Math.max(recorded * LEAST_LEFT, recorded - Math.min(perStep, slack));
}

/** Recording costs host time. The excess is taken off these classes, in this order. */
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
export function correctTime(
  facts: TraceFacts,
  baseline: Baseline | null,
  step: number,
  measured: TimeByClass | null,
  hiddenWaits: number,
): TimeByClass {
  const corrected = { ...facts.time } as Record<TimeClass, number>;
  corrected.idle_data += hiddenWaits;
  if (baseline?.faithful) {
    // A log has measured its waits.
    if (!measured) corrected.idle_data *= ratio(baseline.input.unprofiled, baseline.input.recorded);
    const { busyRecorded: before, busyUnprofiled: after } = baseline;
    corrected.compute *= ratio(after.compute, before.compute);
    corrected.comms_transfer *= ratio(after.comms, before.comms);
    corrected.copy *= ratio(after.copy, before.copy);
  }
  let excess = sumOfClasses(totals((c) => corrected[c])) - step;
  for (const c of SLOWED_BY_RECORDING) {
    if (excess <= 0) break;
    // What the log measured as waiting is no cost of recording.
    const kept = measured && WAITS.includes(c) ? measured[c] : 0;
    const taken = Math.min(excess, Math.max(0, corrected[c] - kept));
    corrected[c] -= taken;
    excess -= taken;
  }
  // A short trace may miss other waits too that the log of many steps has.
  for (const c of measured ? WAITS : []) {
    if (excess >= 0) break;
    const missing = Math.min(-excess, Math.max(0, measured![c] - corrected[c]));
    corrected[c] += missing;
    excess += missing;
  }
  // If the measured step is still longer than the recorded one, or shorter than the GPU was busy, all classes scale.
  const divided = totals((c) => corrected[c]);
  return sumOfClasses(divided) > 0 ? scaleTo(divided, step) : scaleTo(facts.time, step);
}

/** The same division of another step time. All 0 if nothing was recorded. */
export function scaleTo(time: TimeByClass, step: number): TimeByClass {
  const total = sumOfClasses(time);
  return totals((c) => (total > 0 ? (time[c] * step) / total : 0));
}

const ratio = (after: number, before: number) => (before > 0 ? after / before : 1);

export function correctCopies(facts: TraceFacts, baseline: Baseline | null): CopyTime {
  if (!baseline?.faithful) return facts.copies;
  const { busyRecorded: before, busyUnprofiled: after } = baseline;
  return {
    toDevice: ns(facts.copies.toDevice * ratio(after.toDevice, before.toDevice)),
    toHost: ns(facts.copies.toHost * ratio(after.toHost, before.toHost)),
  };
}
