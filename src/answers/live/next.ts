import type { Activity } from '../../triage/activity/activity.js';

/** Commands that a user can paste, with the process of this job. */

const rootOf = ({ trainers }: Activity): number | null => trainers[0]?.facts.pid ?? null;

export const withStacks = (activity: Activity): string => {
  const { pid } = activity.recording.machine;
  const root = activity.isLive ? (pid ?? rootOf(activity)) : null;
  return `whyslow triage --stacks${root === null ? '' : ` --pid ${root}`}`;
};

/** The command of the job; a placeholder where it cannot be pasted into a shell as it is. */
export function commandOf({ trainers }: Activity): string {
  const command = trainers[0]?.facts.command ?? '';
  const isPlain = /^[\w@%+=:,./ -]{1,100}$/.test(command) && !/--multiprocessing-fork| -c /.test(command);
  return isPlain ? command : 'YOUR COMMAND';
}

export const measured = (activity: Activity): string => `whyslow run -- ${commandOf(activity)}`;
export const withTrace = (activity: Activity): string => `whyslow run --trace -- ${commandOf(activity)}`;

/** Bounded: it waits for the warm-up, then records for a while. */
export const withNsys = (activity: Activity): string =>
  `nsys profile --trace=cuda,nvtx,osrt --delay=60 --duration=20 -o nsys_%p ${commandOf(activity)}`;

/** The next run writes down its collectives when one of them times out. */
export const withFlightRecorder = (activity: Activity): string =>
  `TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 ${commandOf(activity)}`;
