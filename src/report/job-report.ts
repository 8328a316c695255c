import { ns, seconds, share, toMs } from '../base/units.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { type Iteration, iterationWords, type JobTime, outsidePerStep } from '../facts/job-time.js';
import { sharesOfClasses, totals } from '../facts/time-class.js';
import type { ReportIteration, ReportJob, ReportStep, TimeShares } from './report.js';

/** All of the process's time, largest part first. */
export function jobOf(job: JobTime | null): ReportJob | null {
  if (!job || !(job.wall > 0)) return null;
  const parts = [
    { name: 'steps', ns: job.training, count: job.steps, own: false },
    { name: 'start-up', ns: job.startUp, count: 1, own: false },
    { name: 'end', ns: job.end, count: 1, own: false },
    ...job.phases,
  ];
  const phases = parts
    .filter((p) => p.ns > 0)
    .sort((a, b) => b.ns - a.ns)
    .map(({ name, ns, count, own }) => ({
      name,
      s: seconds(ns / 1e9),
      share: share(ns / job.wall),
      count,
      sampled: own,
    }));
  return { wall_s: seconds(job.wall / 1e9), phases };
}

/** What one step is. */
export const iterationReport = (iteration: Iteration | null): ReportIteration | null =>
  iteration && {
    optimizer_steps: iteration.optimizerSteps,
    optimizers: iteration.optimizers,
    backward_passes: iteration.backwardPasses,
    varies: iteration.varies,
    rollout: iteration.rollout,
    text: iterationWords(iteration),
  };

/** Named parts of the whole step. On a GPU the job's own phases may be any class, so they are not among them. */
export function partsOf(view: RankView): ReportStep['parts'] {
  const { job } = view;
  if (!job) return [];
  const onHost = view.divided.phases?.allHost === true;
  const named = job.phases.filter((p) => p.recurs && (!p.own || onHost));
  return named.map((p) => ({ name: p.name, ms: toMs(ns(p.ns / job.steps)), between: !p.own }));
}

/** Shares of the whole step. What the host does between training steps is host time, and compiling is compiling. */
export function timeOf({ time, job }: RankView): TimeShares {
  const compile = outsidePerStep(job, 'compile');
  const other = outsidePerStep(job) - compile;
  return sharesOfClasses(
    totals((c) => ns(time[c] + (c === 'idle_compile' ? compile : c === 'idle_host' ? other : 0))),
  );
}
