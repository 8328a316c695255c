import { type Ns, ns } from '../../base/units.js';
import { outsidePerStep } from '../../facts/job-time.js';
import type { RankView } from './rank-view.js';

/** The step with what the job does between training steps. Rules see the training step alone, `view.step`. */
export const wholeStep = ({ step, job }: RankView): Ns => ns(step + outsidePerStep(job));
