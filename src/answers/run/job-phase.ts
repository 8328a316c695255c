import { largest } from '../../base/statistics.js';
import { formatWholePercent, share } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { jobCause, timeOf } from '../../facts/causes.js';
import { type JobPhase, type JobTime, recurring } from '../../facts/job-time.js';
import { betweenSteps } from '../../facts/step-facts.js';
import type { Claim, Words } from '../kit/claim.js';
import { insideSentence, labelOf, words } from '../kit/words.js';
import { CLOSE, sharesOf, type VerdictClass } from '../steps/shares.js';
import { claimOfRank } from '../steps/steps.js';

/** Wall time was measured, not estimated. Phases that were sampled are a little less certain. */
const MEASURED = 0.95;
const SAMPLED = 0.85;

const DOING: Readonly<Record<string, string>> = {
  checkpoint: 'saving checkpoints',
  evaluation: 'evaluation',
  generation: 'generation',
  inference: 'inference (the model called without gradients)',
  no_grad: 'calling the model without gradients (a rollout or a validation)',
  logging: 'logging',
  metrics: 'computing metrics',
  scheduler: 'setting the learning rate',
  gc: 'garbage collection',
  compile: 'compiling',
};

/** In iterations that are known to collect data first. */
const ROLLOUT = 'collecting data (the model called without gradients, and what runs between the calls)';

/** The rank that spends most outside its training steps: the others wait for it, if only one saves. */
export function jobViewOf(views: readonly RankView[]): RankView | null {
  const known = views.filter((v) => v.job !== null);
  const outside = (v: RankView) => betweenSteps(v.step);
  return known.length === 0 ? null : known.reduce((a, b) => (outside(b) > outside(a) ? b : a));
}

/** If one phase of the job takes more than anything that steps are made of, it is the answer. */
export function jobPhaseAnswer({ views }: Pick<Observed, 'views'>): Claim | null {
  const view = jobViewOf(views);
  const job = view?.job;
  if (!view || !job) return null;
  const own = job.phases.filter((p) => p.own);
  const [phase] = [...recurring(job), ...own].sort((a, b) => b.ns - a.ns);
  const rest = classesOf(view, own);
  if (!phase || phase.ns / job.steps <= largest(Object.values(rest))) return null;
  // Of this rank alone: others that wait for it are held up by the phase, not by communication.
  const steps = claimOfRank(view);
  const before = steps.bottleneck;
  const bottleneck = phase.own && before !== 'unknown' ? before : 'host';
  const answer = rest[timeOf(before) as VerdictClass] ?? 0;
  const isClose = before !== bottleneck && answer * CLOSE * job.steps >= phase.ns;
  return {
    view,
    bottleneck,
    second: isClose && before !== 'unknown' ? before : null,
    confidence: phase.own ? SAMPLED : MEASURED,
    cause: jobCause(phase.name),
    words: phase.own
      ? words(labelOf(bottleneck), partOf(phase, job))
      : words('Outside training', partOf(phase, job), ...inSteps(steps)),
  };
}

/** ns per step of each class, without what the job's own phases hold: that is host time as far as the log shows. */
function classesOf(view: RankView, own: readonly JobPhase[]): Record<VerdictClass, number> {
  const shares = sharesOf(view);
  const taken = own.reduce((sum, p) => sum + p.ns, 0) / (view.job?.steps || 1);
  return {
    gpu: shares.gpu * view.step.unprofiled,
    data: shares.data * view.step.unprofiled,
    comms: shares.comms * view.step.unprofiled,
    host: Math.max(0, (shares.host + shares.other) * view.step.unprofiled - taken),
  };
}

/** Short trials are mostly start-up, which says nothing about a long job. */
const SHORT_START_UP = 0.05;

/** `62% of the job’s time after start-up is evaluation`. */
function partOf(phase: JobPhase, job: JobTime): string {
  const repeated = job.phases.filter((p) => p.recurs);
  const loop = repeated.reduce<number>((sum, p) => sum + p.ns, job.training);
  const when = loop < (1 - SHORT_START_UP) * job.wall ? ' after start-up' : '';
  const isRollout = phase.name === 'no_grad' && job.iteration?.rollout === true;
  const doing = isRollout ? ROLLOUT : (DOING[phase.name] ?? `“${phase.name}”`);
  return `${formatWholePercent(share(phase.ns / loop))} of the job’s time${when} is ${doing}`;
}

/** What limits the steps next to it. */
function inSteps({ bottleneck, words: { label, headline, details } }: Claim): Words['details'] {
  if (bottleneck === 'unknown') return [];
  return [`Its training steps are ${insideSentence(label)}: ${headline}`, ...details];
}
