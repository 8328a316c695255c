import { largest, smallest } from '../../base/statistics.js';
import { ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { copyPlan } from '../../replay/plan.js';
import { replay } from '../../replay/replay.js';
import type { Edit, Level, Price } from './rule.js';

/** A smaller gain is within the noise of real runs: it is not promised. */
export const LEAST_GAIN = 1.03;

/** A step of almost no time is a fault of the recording, not a gain. */
const MOST_GAIN = 1000;

/**
 * Replays the step with the fix applied: as likely, and with its uncertain parts and the cost of the profiler at both ends.
 * Null when the replay does not reproduce the step: then nothing is priced.
 */
export function priceOf(view: RankView, edit: Edit, floor: (level: Level) => number = () => 0): Price | null {
  const baseline = view.source === 'trace' ? view.baseline : null;
  if (!baseline?.faithful || !(baseline.corrected > 0)) return null;
  const after = (level: Level, cost: Level) => {
    const plan = copyPlan(baseline.plan);
    edit(plan, level);
    const step = replay(plan, baseline.recording[cost]).step;
    return Math.max(step, floor(level), baseline.corrected / MOST_GAIN);
  };
  const likely = baseline.corrected / after('likely', 'likely');
  const price = (low: number, high: number, least: number): Price => ({
    speedup: { low, likely, high },
    after: ns(view.step / likely),
    edit,
    floor: ns(least),
  });
  // The uncertainty of no gain is of no interest.
  if (likely < LEAST_GAIN) return price(likely, likely, 0);
  const all = [
    likely,
    baseline.corrected / after('low', 'likely'),
    baseline.corrected / after('high', 'likely'),
    baseline.correctedHigh / after('likely', 'low'),
    baseline.correctedLow / after('likely', 'high'),
  ];
  return price(smallest(all), largest(all), floor('likely'));
}

/**
 * From the phases of a log, for fixes that leave everything else as it is. `after`: ns of a step with the fix. Null for jobs
 * without GPU: there a worker may take the core that computes.
 */
export function priceFromLog(view: RankView, after: (level: Level) => number): Price | null {
  if (!view.facts.hasGpuWork || !(view.step > 0)) return null;
  const gain = (level: Level) => view.step / Math.max(after(level), view.step / MOST_GAIN);
  const all = [gain('low'), gain('likely'), gain('high')];
  return {
    speedup: { low: smallest(all), likely: gain('likely'), high: largest(all) },
    after: ns(view.step / gain('likely')),
    edit: null,
    floor: ns(0),
  };
}

export const isWorthwhile = (price: Price | null): price is Price =>
  price !== null && price.speedup.likely >= LEAST_GAIN;
