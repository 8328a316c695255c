import { CoverageCursor } from '../../base/intervals.js';
import { mean, median } from '../../base/statistics.js';
import type { HostSpans } from './host-spans.js';
import type { StepTimes } from './step-times.js';

/** The first step waits for input this part of a usual step, and this many times as long as the others. */
const PART_OF_STEP = 0.5;
const TIMES_THE_OTHERS = 3;

/**
 * Whether the only long wait for input is in the first step: the steps after it live off the batches that its workers have
 * loaded meanwhile. Not in the job's first step, in which the workers start.
 */
export function firstWaitedAlone(host: HostSpans, { steps, source }: StepTimes): boolean {
  if (host.loaders.inWorkers === 0 || source !== 'profiler' || steps.length < 2 || !(steps[0]!.index > 0))
    return false;
  const waiting = new CoverageCursor(host.waits.data);
  const [first, ...others] = steps.map((s) => waiting.covered(s.hostStart, s.hostEnd));
  const usual = median(steps.slice(1).map((s, i) => s.frontier - steps[i]!.frontier));
  return first! > PART_OF_STEP * usual && first! > TIMES_THE_OTHERS * mean(others);
}
