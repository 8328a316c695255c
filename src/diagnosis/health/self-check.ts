import { type CheckResult, found } from '../../base/check.js';
import { largest } from '../../base/statistics.js';
import { sumOfClasses } from '../../facts/time-class.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import type { RankView } from '../ranks/rank-view.js';

/** Recorded and estimated steps differ by a few percent. */
const TOLERANCE = 1.05;
const IMPOSSIBLE = 'impossible-figure';
const OURS = 'its figures cannot all be right; please report it, this is a fault of whyslow';

/** Figures of a rank that contradict each other. They are a fault of ours, whatever the recording is like. */
export function selfCheck(view: RankView): readonly CheckResult[] {
  const { step, time, facts } = view;
  const parts = sumOfClasses(time);
  const isSum =
    Math.abs(parts / step.unprofiled - 1) <= TOLERANCE - 1 || parts === 0 || step.unprofiled === 0;
  const longest = view.source === 'trace' ? longestKernel(view.facts.kernels) : 0;
  const most = Math.max(step.whole, step.recorded, largest([...facts.steps.periods]));
  return [
    ...found('severe', IMPOSSIBLE, Number(!isSum), 'the parts of the step do not add up to the step', OURS),
    ...found(
      'severe',
      IMPOSSIBLE,
      Number(longest > TOLERANCE * most),
      'the step is shorter than the longest kernel in it',
      OURS,
    ),
  ];
}

/** Of those that compute: communication, copies and waits of another step may overlap this one. */
const longestKernel = (kernels: readonly KernelTotal[]) =>
  largest([0, ...kernels.filter((k) => !OTHER.includes(k.class)).map((k) => k.longest)]);
const OTHER: readonly string[] = ['comms', 'copy', 'fill', 'wait'];
