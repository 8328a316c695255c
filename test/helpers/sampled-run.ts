import { activityByRank, capturedRanks } from '../../src/diagnosis/ranks/rank-activity.js';
import { NO_EVIDENCE } from '../../src/diagnosis/run-evidence.js';
import type { RunFacts } from '../../src/diagnosis/run-facts.js';
import { jobActivity } from '../../src/telemetry/processes/job-activity.js';
import { type DrawnJob, drawJob } from './triage.js';

/** For tests of rules: a run with only /proc samples, without manifests. */
export function sampledRun(
  job: DrawnJob,
  ranks: readonly number[] = [0],
): Pick<RunFacts, 'captured' | 'evidence'> {
  const member = { of: 'run', evidence: { activity: jobActivity(drawJob(job)) } };
  const beside = [member] as unknown as Parameters<typeof activityByRank>[0]['beside'];
  const activity = activityByRank({ beside }, new Map(), ranks);
  return { captured: capturedRanks(new Map(), activity), evidence: { ...NO_EVIDENCE, activity } };
}
