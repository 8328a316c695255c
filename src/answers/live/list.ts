import type { Activity } from '../activity/activity.js';
import { judgeBusyGpu, judgeMostlyBusyGpu } from './gpu.js';
import { judgeReadingInMain, judgeWorkers } from './input.js';
import { judgeCompiling, judgeMemory, judgeNotTraining, judgeThreads } from './machine.js';
import { judgeCompute, judgeIdle, judgePeggedThread } from './training-thread.js';
import type { TriageVerdict } from './verdict.js';

/** Looks for one cause. Null: it is not that. */
export type Judge = (activity: Activity) => TriageVerdict | null;

/**
 * The first that answers decides. What explains the rest comes first: a machine that swaps or throttles its threads makes
 * everything else look slow, and a GPU that is busy is the limit whatever the host does.
 */
export const JUDGES: readonly Judge[] = [
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
