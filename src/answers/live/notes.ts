import { largest } from '../../base/statistics.js';
import type { Cause } from '../../facts/causes.js';
import type { Recording } from '../../model/recording.js';
import { GPU_BUSY } from '../../telemetry/busy-gpu.js';
import { isCrowdedOut } from '../../telemetry/processes/job-activity.js';
import type { Activity } from '../../triage/activity/activity.js';
import { GPU_WAITS } from '../../triage/activity/thresholds.js';

const furtherJobs = (pids: readonly number[], isLive: boolean): string =>
  isLive
    ? `further jobs train here (process ${pids.join(', ')}); choose one with --pid`
    : `further jobs trained there (process ${pids.join(', ')})`;

/** What limits the answer, in sentences. */
export function notesOn(
  { machine, samples }: Recording,
  activity: Activity | null,
  cause: Cause,
  isLive: boolean,
): string[] {
  const uses = activity?.gpu?.states.map((s) => s.utilization!) ?? [];
  const lag = uses.length > 1 && largest(uses) >= GPU_BUSY && uses.some((u) => u < GPU_WAITS);
  const isGone =
    samples.length > 2 && samples[0]!.processes.length > 0 && samples.at(-1)!.processes.length === 0;
  return [
    ...(isGone ? ['the job ended while it was watched'] : []),
    ...(isLive ? [] : [`these are samples of ${machine.host}: run the commands there, while the job runs`]),
    ...(machine.others.length > 0 ? [furtherJobs(machine.others, isLive)] : []),
    ...(activity !== null && cause !== 'threads' && isCrowdedOut(activity)
      ? ['the job waits for CPUs that other programs use: it would be faster on a machine without them']
      : []),
    ...(lag
      ? ['some GPUs are busy and others are not: the busy ones may wait for the others in a collective']
      : []),
    ...(activity?.usesGpu && activity.gpu !== null && !activity.gpu.areKnown && activity.gpu.states.length > 1
      ? ['which GPUs the job uses is unknown: all busy GPUs are counted']
      : []),
  ];
}
