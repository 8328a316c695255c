/**
 * Short ids of what slows a job down: `verdict.cause` of a report and of triage. Programs rely on them, so none is renamed.
 */

/** Named by the answers themselves, when no finding explains more. */
export const ANSWER_CAUSES = [
  // What limits the steps.
  'gpu-busy',
  'cpu-busy',
  'input-wait',
  'exposed-communication',
  'waiting-for-unseen-rank',
  'host-overhead',
  'evidence-does-not-decide',
  'no-evidence',
  // Dumps and stacks of a job that hangs.
  'one-look',
  // Telemetry alone.
  'gpu-waits',
  // A running job, watched from outside.
  'gpu-bound',
  'throttle',
  'starved',
  'data-cpu',
  'data-io',
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

/** Ids of findings. A finding that addresses the bottleneck is its cause. */
export const FINDING_IDS = [
  'activation-checkpointing',
  'allocator-churn',
  'anomaly-detection',
  'blocking-copy',
  'bursty-input',
  'busy-but-starved',
  'capture-more',
  'checkpoint-in-step',
  'compiles-in-steps',
  'cpu-contention',
  'cudnn-benchmark',
  'dense-embedding-gradients',
  'different-collectives',
  'double-precision',
  'exposed-collectives',
  'exposed-copy',
  'find-unused-parameters',
  'gpu-throttled',
  'graph-breaks',
  'heavy-profiler',
  'host-pause',
  'host-sync',
  'hot-kernel',
  'input-on-training-thread',
  'input-wait',
  'launch-bound',
  'memory-pressure',
  'memory-snapshot',
  'metrics-in-step',
  'nchw-convolutions',
  'no-cuda-graphs',
  'no-prefetch',
  'not-sixteen-bit',
  'num-workers-zero',
  'one-slow-step',
  'optimizer-for-loop',
  'optimizer-foreach',
  'pageable-copies',
  'pageable-copy',
  'pipeline-waits',
  'plans-rebuilt',
  'profiler-left-on',
  'rank-elsewhere',
  'recompile-limit',
  'recompiles',
  'rotating-imbalance',
  'scalar-collectives',
  'shapes-from-data',
  'slow-workers',
  'small-batch',
  'small-collectives',
  'stack-dump',
  'stuck-collective',
  'tf32-off',
  'unaligned-products',
  'unfused-attention',
  'unfused-elementwise',
  'unseen-time',
  'workers-restarted',
  'zero-fill',
] as const;

/** A phase of the job that takes most of its time: `checkpoint-time`, or the job's own name for it. */
export type JobCause = `${string}-time`;
export const jobCause = (phase: string): JobCause => `${phase}-time`;
export const isJobCause = (cause: string): cause is JobCause => cause.endsWith('-time');

export type FindingId =
  | (typeof FINDING_IDS)[number]
  | JobCause
  | `late-rank-${string}`
  | `slow-link-${string}`;

export type Cause = (typeof ANSWER_CAUSES)[number] | FindingId;
