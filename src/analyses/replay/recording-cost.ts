import { type BusyTime, busyTime } from './busy-time.js';
import type { Plan } from './plan.js';
import { AS_RECORDED, type RecordingCost, replay } from './replay.js';

/**
 * What torch.profiler adds to the host for each thing it records, in ns. Fitted on the zoo (docs/method.md says how, and
 * how well it holds on cases left out of the fit): the middle, and the range that four fifths of host-bound loops fall in.
 */
export const RECORDING: Readonly<Record<'low' | 'likely' | 'high', RecordingCost>> = {
  low: { perEvent: 1500, perFrame: 1200, perGraphKernel: 1500 },
  likely: { perEvent: 2900, perFrame: 2000, perGraphKernel: 3000 },
  high: { perEvent: 3600, perFrame: 3000, perGraphKernel: 4000 },
};

/** A few steps as they would run without the profiler. */
export interface Baseline {
  readonly plan: Plan;
  readonly recording: Readonly<Record<'low' | 'likely' | 'high', RecordingCost>>;
  /** ns a step: as recorded, played unchanged, and without the profiler. */
  readonly recorded: number;
  readonly replayed: number;
  readonly corrected: number;
  /** Corrected with the high and the low cost: the range it is believed to be in. */
  readonly correctedLow: number;
  readonly correctedHigh: number;
  /** What the device is busy with, as recorded and without the profiler: overlaps change when the host gets faster. */
  readonly busyRecorded: BusyTime;
  readonly busyCorrected: BusyTime;
  /** Played unchanged it comes within 5 % of what was recorded: else nothing is priced. */
  readonly faithful: boolean;
}

const FAITHFUL = 0.05;
/** Costs beyond this are no recording: the steps differed for another reason. */
const MOST_PER_EVENT = 8000;

/** `unprofiled`: ns a step measured without the profiler, null when nobody did. */
export function baselineOf(plan: Plan, recorded: number, unprofiled: number | null): Baseline {
  const asRecorded = replay(plan, AS_RECORDED);
  const replayed = asRecorded.step;
  const likely = unprofiled === null ? RECORDING.likely : fitCost(plan, unprofiled);
  const recording = unprofiled === null ? RECORDING : { low: likely, likely, high: likely };
  const corrected = replay(plan, recording.likely);
  return {
    ...{ plan, recording, recorded, replayed, corrected: corrected.step },
    busyRecorded: busyTime(plan, asRecorded),
    busyCorrected: busyTime(plan, corrected),
    correctedLow: replay(plan, recording.high).step,
    correctedHigh: replay(plan, recording.low).step,
    faithful: Math.abs(replayed / recorded - 1) <= FAITHFUL,
  };
}

/** The cost with which the plan takes as long as was measured: halving, because more cost never makes it longer. */
function fitCost(plan: Plan, unprofiled: number): RecordingCost {
  const scaled = (factor: number): RecordingCost => ({
    perEvent: RECORDING.likely.perEvent * factor,
    perFrame: RECORDING.likely.perFrame * factor,
    perGraphKernel: RECORDING.likely.perGraphKernel * factor,
  });
  let low = 0;
  let high = MOST_PER_EVENT / RECORDING.likely.perEvent;
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (replay(plan, scaled(middle)).step > unprofiled) low = middle;
    else high = middle;
  }
  return scaled((low + high) / 2);
}
