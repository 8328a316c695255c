import { largest, smallest } from '../../base/statistics.js';

/** The queue drains after the last step, but a step that lacks a fifth of the GPU work was cut (docs/method/steps.md). */
const WHOLE_STEP = 0.8;

/**
 * How many of the first steps are whole, by the pieces of GPU work of each. The end of a recording or of a file may cut one
 * step; where the host was steps ahead of the device, those after it have no GPU work at all. All are whole where the work
 * of steps varies as much anyway (ragged batches, gradient accumulation).
 */
export function wholeSteps(works: readonly number[]): number {
  const withWork = works.findLastIndex((n) => n > 0) + 1;
  const before = works.slice(0, Math.max(0, withWork - 1));
  // One step alone does not tell that all have GPU work.
  if (before.length === 0) return withWork === 1 && works.length === 2 ? 1 : works.length;
  if (smallest(before) < largest(before) * WHOLE_STEP) return works.length;
  return works[withWork - 1]! < before.at(-1)! * WHOLE_STEP ? withWork - 1 : withWork;
}
