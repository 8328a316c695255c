import { quoted } from '../../base/printable.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Claim } from '../kit/claim.js';
import { judge } from '../steps/judge.js';
import { noEvidence, stepsClaim } from '../steps/steps.js';

/** What limits the steps: on the critical path through all ranks, else on the slowest rank. */
export function stepsAnswer({ critical, views, lateComputing, health }: Observed): Claim | null {
  const [first, ...others] = (critical ? [critical] : views).map((view) => ({
    view,
    verdict: judge(view, lateComputing),
  }));
  return first ? stepsClaim([first, ...others], health.severe) : null;
}

/** The last resort: nothing explains the run. Samples of /proc still show what limits the job, roughly. */
export function noAnswer({ inputs: { members, beside }, health }: Observed): Claim {
  const samples = members.length > 0 ? undefined : beside.find((m) => m.evidence.activity !== undefined);
  return noEvidence(
    health.severe,
    samples ? [`judge the samples of /proc: whyslow triage --replay ${quoted(samples.path)}`] : [],
  );
}
