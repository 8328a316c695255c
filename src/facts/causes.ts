/** What limits the speed of training. `unknown`: the evidence does not decide. */
export const BOTTLENECKS = ['gpu', 'data', 'comms', 'host', 'compute', 'unknown'] as const;
export type Bottleneck = (typeof BOTTLENECKS)[number];

/** Whose time it is: on a machine without a GPU, `compute` takes the place of the GPU. */
export const timeOf = (bottleneck: Bottleneck) => (bottleneck === 'compute' ? 'gpu' : bottleneck);

/**
 * Short ids of what slows a job down: `verdict.cause` of a report and of triage, unless a finding explains more. Then its id
 * is the cause. Programs rely on them, so none is renamed. Some are ids of findings too.
 */
export const CAUSES = [
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
  'stuck-collective',
  'rank-elsewhere',
  'stack-dump',
  'one-look',
  // Memory snapshots.
  'out-of-memory',
  'memory-peak',
  // Telemetry alone.
  'gpu-waits',
  'busy-but-starved',
  'gpu-throttled',
  // A running job, watched from outside.
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

/** A phase of the job that takes most of its time: `checkpoint-time`, or the job's own name for it. */
export type JobCause = `${string}-time`;
export const jobCause = <Phase extends string>(phase: Phase) => `${phase}-time` as const;
export const isJobCause = (cause: string): cause is JobCause => cause.endsWith('-time');

export type Cause = (typeof CAUSES)[number] | JobCause;
