import { oncePer } from '../../base/once-per.js';
import { largest, smallest } from '../../base/statistics.js';
import { ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { isMeasured } from '../../facts/step-facts.js';
import { copyPlan } from '../../replay/plan.js';
import { type Baseline, UNCERTAIN } from '../../replay/recording-cost.js';
import { replaySteady } from '../../replay/replay.js';
import type { Edit, Level, Price } from './rule.js';

/** A smaller gain is within the noise of real runs: it is not promised. */
export const LEAST_GAIN = 1.03;

/** A step of almost no time is a fault of the recording, not a gain. */
const MOST_GAIN = 1000;

/** Two recordings of the same host-bound loop differ by this much (standard deviation, docs/method/recording-cost.md). */
const HOST_VARIES = 1.1;
/** Steps that wait for the GPU repeat within 1%. What the replay leaves out (caches, clocks) makes up the rest. */
const GPU_VARIES = 0.04;

/**
 * Replays the step with the fix applied: as likely, with its uncertain parts at both ends, and on a slower host.
 * Null when the replay does not reproduce the step: then nothing is priced.
 */
export function priceOf(view: RankView, edit: Edit, floor: (level: Level) => number = () => 0): Price | null {
  const baseline = view.source === 'trace' ? view.baseline : null;
  if (!baseline?.faithful || !(baseline.unprofiled > 0)) return null;
  const { recording } = baseline;
  const outside = outsideOf(view, baseline);
  const before = baseline.unprofiled + outside;
  const after = (level: Level, slowdown = 1) => {
    const plan = copyPlan(baseline.plan);
    edit(plan, level);
    const step = replaySteady(plan, recording.likely, slowdown).step + outside;
    return Math.max(step, floor(level), before / MOST_GAIN);
  };
  const step = after('likely');
  const likely = before / step;
  const price = (low: number, high: number, least: number): Price => ({
    speedup: { low, likely, high },
    after: ns(view.step.unprofiled / likely),
    edit,
    floor: ns(least),
  });
  // The uncertainty of no gain is of no interest.
  if (likely < LEAST_GAIN) return price(likely, likely, 0);
  const slower = {
    before: Math.log((stepOnSlowerHost(baseline) + outside) / before),
    after: Math.log(after('likely', HOST_VARIES) / step),
  };
  const spread = spreadOf(slower, isMeasured(view.step) ? 1 : UNCERTAIN);
  const [worst, best] = [before / after('low'), before / after('high')];
  const low = likely * Math.exp(-Math.hypot(spread, Math.log(likely / Math.min(likely, worst))));
  const high = likely * Math.exp(Math.hypot(spread, Math.log(Math.max(likely, best) / likely)));
  // Less than no gain only where the fix itself may cost something.
  return price(Math.max(low, Math.min(1, worst)), high, floor('likely'));
}

/** The same for every fix of a rank, so it is replayed once. ns. */
const stepOnSlowerHost = oncePer(
  ({ plan, recording }: Baseline) => replaySteady(plan, recording.likely, HOST_VARIES).step,
);

/** Time of a measured step that the trace does not have, and that no change of the recorded steps shortens. */
export const outsideOf = ({ step }: RankView, { unprofiled }: Baseline) =>
  isMeasured(step) ? Math.max(0, step.unprofiled - unprofiled) : 0;

/** A step of the rank when a replay of its plan takes so long. ns. */
export function stepWith(view: RankView, baseline: Baseline, replayed: number): number {
  const outside = outsideOf(view, baseline);
  return (view.step.unprofiled * (replayed + outside)) / (baseline.unprofiled + outside);
}

/**
 * How far the gain may be from the likely one, as a logarithm, whatever the fix. The steps before and after vary each by
 * itself. The recording cost is off by `cost` in both alike, which only matters as far as they depend on the host
 * differently.
 */
function spreadOf(slower: { readonly before: number; readonly after: number }, cost: number): number {
  const common = (slower.before - slower.after) * (Math.log(cost) / Math.log(HOST_VARIES));
  return Math.hypot(slower.before, slower.after, common, GPU_VARIES);
}

/** By arithmetic on measured times, for fixes that leave the rest of the step as it is. `after`: ns of a step with the fix. */
export function priceOfStep(view: RankView, after: (level: Level) => number): Price | null {
  if (!(view.step.unprofiled > 0)) return null;
  const gain = (level: Level) =>
    view.step.unprofiled / Math.max(after(level), view.step.unprofiled / MOST_GAIN);
  const all = [gain('low'), gain('likely'), gain('high')];
  return {
    speedup: { low: smallest(all), likely: gain('likely'), high: largest(all) },
    after: ns(view.step.unprofiled / gain('likely')),
    edit: null,
    floor: ns(0),
  };
}

export const isWorthwhile = (price: Price | null): price is Price =>
  price !== null && price.speedup.likely >= LEAST_GAIN;
