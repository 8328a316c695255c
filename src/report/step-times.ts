import { mean } from '../base/statistics.js';
import { type Ms, ns, toMs } from '../base/units.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { betweenSteps, isMeasured } from '../facts/step-time.js';

/** More are averaged in groups: a report stays small. */
const MAX_TIMES = 400;

/**
 * The step times that `step.ms` is the mean of, in order: recorded steps without the profiler's cost, with the time between
 * steps spread evenly. A log has more steps than a trace.
 */
export function stepTimes(view: RankView): readonly Ms[] {
  const log = view.source === 'trace' ? view.log : view;
  const { periods } = log && isMeasured(view.step) ? log.facts.steps : view.facts.steps;
  if (periods.length === 0) return [];
  const size = Math.ceil(periods.length / MAX_TIMES);
  const groups = Array.from({ length: Math.floor(periods.length / size) }, (_, g) =>
    mean(periods.slice(g * size, (g + 1) * size)),
  );
  const usual = mean(groups);
  const between = betweenSteps(view.step);
  // Steps of no length, in damaged traces, are all alike.
  const timeOf = (time: number) => (usual > 0 ? (time * view.step.unprofiled) / usual : view.step.unprofiled);
  return groups.map((time) => toMs(ns(timeOf(time) + between)));
}
