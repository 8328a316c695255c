import { quantile } from '../base/statistics.js';
import { type Ns, ns } from '../base/units.js';
import { WorkSort } from '../facts/work-sort.js';
import { type BusyTime, busyTime } from './busy-time.js';
import type { Plan } from './plan.js';
import { AS_RECORDED, type RecordingCost, replay } from './replay.js';

/**
 * What torch.profiler adds to the host for each thing it records, in ns, on a machine with the usual launch time. Fitted on
 * the zoo (docs/method.md, Recording cost).
 */
const USUAL: RecordingCost = { perEvent: 2700, perFrame: 2000, perGraphKernel: 3000 };
/**
 * The cost of an event grows with the square of the launch time under the profiler: 0.05 µs for each µs² on three
 * recordings by hosts of different speed (0.055, 0.051, 0.048 on 44 loops). Most cost 1.3 to 4.1 µs.
 */
const PER_SQUARE_LAUNCH = 0.05 / 1000;
const LEAST_PER_EVENT = 800;
const MOST_PER_EVENT = 4500;
/** Fewer launches say little about the host's speed. */
const ENOUGH_LAUNCHES = 100;
/** Quantile of the launch time: a quick launch, but not the quickest. */
const QUICK = 0.3;
/** Most of the zoo's host-bound loops lie within this range. */
const RANGE = { low: 0.6, high: 1.4 } as const;

type RecordingCosts = Readonly<Record<'low' | 'likely' | 'high', RecordingCost>>;

/** What recording cost on the machine that made this plan. `perSquare`: the fitted constant, which zoo/calibrate.ts varies. */
export function recordingOf(plan: Plan | null, perSquare = PER_SQUARE_LAUNCH): RecordingCosts {
  const perEvent = plan === null ? USUAL.perEvent : costOfEvent(plan, perSquare);
  const perFrame = (USUAL.perFrame * perEvent) / USUAL.perEvent;
  const likely = { perEvent, perFrame, perGraphKernel: USUAL.perGraphKernel };
  return { low: scaled(likely, RANGE.low), likely, high: scaled(likely, RANGE.high) };
}

const scaled = (cost: RecordingCost, factor: number): RecordingCost => ({
  perEvent: cost.perEvent * factor,
  perFrame: cost.perFrame * factor,
  perGraphKernel: cost.perGraphKernel * factor,
});

function costOfEvent(plan: Plan, perSquare: number): number {
  const launch = launchTime(plan);
  if (launch === null) return USUAL.perEvent;
  return Math.min(MOST_PER_EVENT, Math.max(LEAST_PER_EVENT, perSquare * launch * launch));
}

/** Host time of a launch under the profiler, ns. Null: too few launches to tell. */
export function launchTime({ nodes, works }: Plan): number | null {
  // Copies and fills are other calls and take other times.
  const isKernel = (n: number) =>
    nodes.workCount[n] === 1 && works.sort[nodes.firstWork[n]!] === WorkSort.compute;
  const calls = nodes.call.filter((_, n) => isKernel(n) && nodes.waitsFor[n]! < 0);
  return calls.length < ENOUGH_LAUNCHES ? null : quantile(calls, QUICK);
}

/** A plan with its step time without the profiler: what the price of a fix is compared with. */
export interface Baseline {
  readonly plan: Plan;
  readonly recording: RecordingCosts;
  /** Step times: as recorded, replayed unchanged, and replayed without the recording cost. */
  readonly recorded: Ns;
  readonly replayed: Ns;
  readonly corrected: Ns;
  /** Corrected with the high and with the low cost. */
  readonly correctedLow: Ns;
  readonly correctedHigh: Ns;
  /** What the device does, with and without the recording cost: overlap changes when the host gets faster. */
  readonly busyRecorded: BusyTime;
  readonly busyCorrected: BusyTime;
  /** Replayed unchanged, the step comes within 5 % of the recorded one. If not, no fix is priced. */
  readonly faithful: boolean;
}

const FAITHFUL = 0.05;
/** A higher cost cannot be the profiler's: the steps differ for another reason. */
const MOST_FITTED = 8000;

/** `unprofiled`: step time measured without the profiler, ns. Null: not measured. */
export function baselineOf(plan: Plan, recorded: number, unprofiled: number | null): Baseline {
  const asRecorded = replay(plan, AS_RECORDED);
  const replayed = asRecorded.step;
  const estimated = recordingOf(plan);
  const fitted = unprofiled === null ? null : fitCost(plan, unprofiled, estimated.likely);
  const recording = fitted ? { low: fitted, likely: fitted, high: fitted } : estimated;
  const corrected = replay(plan, recording.likely);
  return {
    plan,
    recording,
    recorded: ns(recorded),
    replayed,
    corrected: corrected.step,
    correctedLow: replay(plan, recording.high).step,
    correctedHigh: replay(plan, recording.low).step,
    busyRecorded: busyTime(plan, asRecorded),
    busyCorrected: busyTime(plan, corrected),
    faithful: Math.abs(replayed / recorded - 1) <= FAITHFUL,
  };
}

/** The cost with which the plan takes as long as was measured. Bisection works: more cost never makes the step longer. */
function fitCost(plan: Plan, unprofiled: number, usual: RecordingCost): RecordingCost {
  let low = 0;
  let high = MOST_FITTED / usual.perEvent;
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (replay(plan, scaled(usual, middle)).step > unprofiled) low = middle;
    else high = middle;
  }
  return scaled(usual, (low + high) / 2);
}
