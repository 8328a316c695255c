import { largest, mean } from '../base/statistics.js';
import { formatCount, formatWhole } from '../base/units.js';
import type { Cause } from '../facts/causes.js';
import type { StackSample } from '../machine/stacks.js';
import type { Recording } from '../model/recording.js';
import { GPU_BUSY } from '../telemetry/busy-gpu.js';
import { isCrowdedOut } from '../telemetry/processes/job-activity.js';
import { type Activity, activityOf, GPU_WAITS } from '../triage/activity/activity.js';
import { type ProcessStacks, processStacks } from '../triage/stacks/stacks.js';
import type { LiveClaim, Maker, Verdict } from './kit/claim.js';
import { decide } from './kit/decide.js';
import { words } from './kit/words.js';
import { judgeBusyGpu, judgeMostlyBusyGpu } from './live/gpu.js';
import { judgeReadingInMain, judgeWorkers } from './live/input.js';
import { judgeCompiling, judgeMemory, judgeNotTraining, judgeThreads } from './live/machine.js';
import { judgeRing } from './live/ring.js';
import type { SeenStacks } from './live/seen-stacks.js';
import {
  judgeApart,
  judgeHang,
  judgeMissingRank,
  judgeOddRank,
  judgeOtherCall,
  judgeWhereItRuns,
} from './live/stacks.js';
import { judgeCompute, judgeIdle, judgePeggedThread } from './live/training-thread.js';
import { cores, percent, sum } from './live/words.js';

const furtherJobs = (pids: readonly number[], isLive: boolean): string =>
  isLive
    ? `further jobs train here (process ${pids.join(', ')}); choose one with --pid`
    : `further jobs trained there (process ${pids.join(', ')})`;

/** What limits the answer, in sentences. */
function notesOn(
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

/**
 * The first that answers decides. What explains the rest comes first: a machine that swaps or throttles its threads makes
 * everything else look slow, and a GPU that is busy is the limit whatever the host does.
 */
const MAKERS: readonly Maker<Activity, LiveClaim>[] = [
  judgeNotTraining,
  judgeMemory,
  judgeBusyGpu,
  judgeThreads,
  judgeWorkers,
  judgeCompiling,
  judgePeggedThread,
  judgeReadingInMain,
  judgeMostlyBusyGpu,
  judgeCompute,
  judgeIdle,
];

/** Stacks show a hang, a missing rank, or what the training thread really does. */
const WITH_STACKS: readonly Maker<SeenStacks, LiveClaim>[] = [
  judgeMissingRank,
  judgeRing,
  judgeOtherCall,
  judgeApart,
  judgeHang,
  judgeOddRank,
  judgeWhereItRuns,
];

/** A running job and what limits it. */
export interface LiveJob {
  /** Null: fewer than two samples. */
  readonly activity: Activity | null;
  readonly stacks: readonly ProcessStacks[];
  readonly verdict: Verdict;
  readonly evidence: readonly string[];
  readonly advice: string;
  /** What limits the answer, in sentences. */
  readonly notes: readonly string[];
}

/** Says what limits a job, from what was recorded of it. `isLive`: just now, on this machine. */
export function judgeJob(recording: Recording, samples: readonly StackSample[], isLive: boolean): LiveJob {
  const activity = activityOf(recording, isLive);
  const stacks = activity ? processStacks(samples, activity) : [];
  const { claim, verdict } = activity ? answer(activity, stacks) : decide(recording, [tooShort]);
  return {
    activity,
    stacks,
    verdict,
    evidence: claim.evidence,
    advice: claim.advice,
    notes: notesOn(recording, activity, claim.cause, isLive),
  };
}

function answer(activity: Activity, stacks: readonly ProcessStacks[]) {
  const fromOutside = decide(activity, MAKERS);
  if (stacks.length === 0) return fromOutside;
  const { claim, verdict } = decide({ stacks, activity, outside: fromOutside.claim }, WITH_STACKS);
  // They have just been taken.
  const next = verdict.next.filter((command) => !command.includes('--stacks'));
  return { claim, verdict: { ...verdict, next } };
}

const tooShort = (): LiveClaim => ({
  bottleneck: 'unknown',
  cause: 'not-training',
  confidence: 1,
  words: words('Nothing was measured', 'fewer than two samples'),
  evidence: [],
  advice: 'Watch for longer.',
  next: ['whyslow triage --seconds 10'],
});

/** One line while a job is watched: what was seen until now. */
export function liveLine(soFar: Recording, seconds: number): string {
  const activity = activityOf(soFar);
  if (activity === null) return 'looking at the job';
  const { trainers, workers, gpu } = activity;
  const left = Math.max(0, Math.ceil(seconds - activity.seconds));
  const parts = [
    gpu === null ? 'GPU –' : `GPU ${formatWhole(gpu.utilization)}%`,
    trainers.length === 0
      ? 'no training process'
      : `training thread ${percent(mean(trainers.map((t) => t.mainCpu)))} of a core`,
    ...(workers.length > 0
      ? [`${formatCount(workers.length, 'worker')} ${percent(mean(workers.map((w) => w.cpu)))} each`]
      : []),
    `${cores(sum([...trainers, ...workers].map((p) => p.cpu)))} in all`,
  ];
  return `${left} s: ${parts.join(' · ')}`;
}
