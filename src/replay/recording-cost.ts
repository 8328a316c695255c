import { quantile } from '../base/statistics.js';
import { WorkSort } from '../facts/work-sort.js';
import { type BusyTime, busyTime } from './busy-time.js';
import type { Plan } from './plan.js';
import { AS_RECORDED, type RecordingCost, replay } from './replay.js';

/**
 * What torch.profiler adds to the host for each thing it records, in ns, on a machine whose launches take the usual time.
 * Fitted on the zoo: docs/method.md says how, and how well it holds on cases left out of the fit.
 */
const USUAL: RecordingCost = { perEvent: 2700, perFrame: 2000, perGraphKernel: 3000 };
/**
 * The cost of an event goes with the square of what a launch takes under the profiler: 0.05 µs for each µs² on three
 * recordings by hosts of different speed (0.055, 0.051, 0.048 on 44 loops), where it was 1.3 to 4.1 µs for most.
 */
const PER_SQUARE_LAUNCH = 0.05 / 1000;
const LEAST_PER_EVENT = 800;
const MOST_PER_EVENT = 4500;
/** Fewer launches say little about the host. */
const ENOUGH_LAUNCHES = 100;
/** Launches that are quick, but not the luckiest. */
const QUICK = 0.3;
/** Most of the zoo's host-bound loops lie within (docs/method.md). */
const RANGE = { low: 0.6, likely: 1, high: 1.4 } as const;

export type RecordingCosts = Readonly<Record<'low' | 'likely' | 'high', RecordingCost>>;

/** What recording cost on the machine that made this plan. `perSquare`: the fit's only constant, for calibrating it. */
export function recordingOf(plan: Plan | null, perSquare = PER_SQUARE_LAUNCH): RecordingCosts {
  const perEvent = plan === null ? USUAL.perEvent : costOfEvent(plan, perSquare);
  const factor = perEvent / USUAL.perEvent;
  const scaled = (by: number): RecordingCost => ({
    perEvent: perEvent * by,
    perFrame: USUAL.perFrame * factor * by,
    perGraphKernel: USUAL.perGraphKernel * by,
  });
  return { low: scaled(RANGE.low), likely: scaled(RANGE.likely), high: scaled(RANGE.high) };
}

function costOfEvent(plan: Plan, perSquare: number): number {
  const launch = launchTime(plan);
  if (launch === null) return USUAL.perEvent;
  return Math.min(MOST_PER_EVENT, Math.max(LEAST_PER_EVENT, perSquare * launch * launch));
}

/** ns that a launch takes the host, under the profiler; null with too few to tell. */
export function launchTime({ nodes, works }: Plan): number | null {
  // Copies and fills are other calls, with times of their own.
  const isKernel = (n: number) =>
    nodes.workCount[n] === 1 && works.sort[nodes.firstWork[n]!] === WorkSort.compute;
  const calls = nodes.call.filter((_, n) => isKernel(n) && nodes.waitsFor[n]! < 0);
  return calls.length < ENOUGH_LAUNCHES ? null : quantile(calls, QUICK);
}

/** A few steps as they would run without the profiler. */
export interface Baseline {
  readonly plan: Plan;
  readonly recording: RecordingCosts;
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
const MOST_FITTED = 8000;

/** `unprofiled`: ns a step measured without the profiler, null when nobody did. */
export function baselineOf(plan: Plan, recorded: number, unprofiled: number | null): Baseline {
  const asRecorded = replay(plan, AS_RECORDED);
  const replayed = asRecorded.step;
  const estimated = recordingOf(plan);
  const fitted = unprofiled === null ? null : fitCost(plan, unprofiled, estimated.likely);
  const recording = fitted ? { low: fitted, likely: fitted, high: fitted } : estimated;
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
function fitCost(plan: Plan, unprofiled: number, usual: RecordingCost): RecordingCost {
  const scaled = (factor: number): RecordingCost => ({
    perEvent: usual.perEvent * factor,
    perFrame: usual.perFrame * factor,
    perGraphKernel: usual.perGraphKernel * factor,
  });
  let low = 0;
  let high = MOST_FITTED / usual.perEvent;
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (replay(plan, scaled(middle)).step > unprofiled) low = middle;
    else high = middle;
  }
  return scaled((low + high) / 2);
}
