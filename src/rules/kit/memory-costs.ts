import { type Ns, ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { scaleHost, scaleWorks } from '../../replay/edits.js';
import { copyPlan, type Plan } from '../../replay/plan.js';
import { replaySteady } from '../../replay/replay.js';
import { Role } from '../../traces/detail/roles.js';
import { OUTSIDE_MODEL } from './fusable.js';
import { LEAST_GAIN, stepWith } from './price.js';
import { has } from './work.js';

/** What a fix that frees memory costs: the step as it is, and with the fix. */
export interface CostInTime {
  readonly before: Ns;
  readonly after: Ns;
  /** The host limits the step with the fix, so what the replay does not know of the host's work comes on top. */
  readonly onHost: boolean;
}

const NOT_FORWARD = Role.backward | OUTSIDE_MODEL | Role.compiling | Role.copies | Role.unscales;

/** `host`: how many times as long the host takes. */
type Edit = (plan: Plan, host: number) => void;

/** The forward pass runs twice. Nothing in the plan shows where blocks begin, so GPU time is the most that checkpoints cost. */
const checkpointAll: Edit = (plan, host) => {
  const { nodes, works } = plan;
  scaleHost(plan, (n) => !has(nodes.roles[n]!, NOT_FORWARD), host);
  scaleWorks(plan, (w) => !has(works.roles[w]!, NOT_FORWARD), 2);
};

/** Twice as many calls with half of the work each. Kernels on half of a batch may take more than half of the time. */
const halfBatchTwice: Edit = (plan, host) => {
  const { roles } = plan.nodes;
  scaleHost(plan, (n) => !has(roles[n]!, OUTSIDE_MODEL | Role.compiling | Role.unscales), host);
};

const EDITS = { checkpointAll, halfBatchTwice } as const;

/** By replaying the step of a rank. Null: it has no trace, or the replay does not reproduce it. */
export function costOf(view: RankView | undefined, fix: keyof typeof EDITS): CostInTime | null {
  const baseline = view?.source === 'trace' && view.facts.hasGpuWork ? view.baseline : null;
  if (!view || !baseline?.faithful || !(baseline.unprofiled > 0)) return null;
  // What is recomputed already is not computed a third time.
  if (fix === 'checkpointAll' && baseline.plan.works.roles.some((r) => has(r, Role.recompute))) return null;
  const stepOf = (host: number) => {
    const plan = copyPlan(baseline.plan);
    EDITS[fix](plan, host);
    return stepWith(view, baseline, replaySteady(plan, baseline.recording.likely).step);
  };
  const after = Math.max(view.step.unprofiled, stepOf(2));
  return {
    before: view.step.unprofiled,
    after: ns(after),
    onHost: stepOf(2 * MUCH_MORE) > LEAST_GAIN * after,
  };
}

/** Checkpointing a small GPT took the host 2.3 times as long in the zoo (ckpt_small), though only its forward pass is repeated. */
const MUCH_MORE = 1.5;
