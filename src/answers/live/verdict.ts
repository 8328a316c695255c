import type { Bottleneck } from '../../diagnosis/verdict/bottleneck.js';

/** Short names of what triage finds. Programs rely on them. */
export const CAUSES = [
  'gpu-bound',
  'throttle',
  'starved',
  'data-cpu',
  'data-io',
  'workers-restarted',
  'launch',
  'compile',
  'threads',
  'memory',
  'compute',
  'rank-missing',
  'hung',
  'idle',
  'mixed',
  'not-training',
] as const;
export type Cause = (typeof CAUSES)[number];

/** What limits the job, as far as a few seconds from outside can tell. */
export interface TriageVerdict {
  readonly bottleneck: Bottleneck;
  readonly cause: Cause;
  /** 0 to 1: how sure the bottleneck is. */
  readonly confidence: number;
  readonly sentence: string;
  readonly evidence: readonly string[];
  /** What to change or look at. */
  readonly advice: string;
  /** Commands to run next, ready to paste. */
  readonly next: readonly string[];
}
