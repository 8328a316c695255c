import { ns } from '../../base/units.js';
import { sumOfClasses } from '../../facts/time-class.js';
import type { RankView } from '../ranks/rank-view.js';
import type { Bottleneck } from './bottleneck.js';

/** A step's time by who could win it back, as shares of the step. */
export interface Shares {
  readonly gpu: number;
  readonly data: number;
  readonly comms: number;
  readonly host: number;
  /** Idle between queued kernels, and what nothing explains. */
  readonly other: number;
}

export interface RankVerdict {
  readonly bottleneck: Bottleneck;
  readonly second: Bottleneck | null;
  readonly confidence: number;
  readonly shares: Shares;
  /** Why the confidence is not higher; worst first. */
  readonly doubts: readonly string[];
}

/** The device is the bottleneck when it computes this share of the step (method 3). */
export const BUSY = 0.85;
/** Below this nothing else is worth naming (method 3; XProf and the TensorBoard plugin use 5–20 %). */
export const WORTH_NAMING = 0.1;
/** Beside a device that is mostly busy, another class must be at least this part of its time. */
const BESIDE_GPU = 0.25;
/** That the device is busy, seen through phases alone; and where they say that it was behind the host. */
const MOST_FROM_PHASES = 0.6;
const MOST_FROM_LAGS = 0.85;
/** That the host holds the device up: for how much of the time it had nothing queued it was busy is not known. */
const MOST_HOST_PACED = 0.75;
/** Loaders keep several batches ready for each worker: fewer steps may not show that they are too slow. */
const FEW_STEPS = 8;
/** No training step is shorter. */
const SHORTEST_STEP_NS = 10_000;
/** A runner-up this close is named too (method 3). */
const CLOSE = 1.5;

export function sharesOf(view: RankView, time = view.time): Shares {
  const step = sumOfClasses(time) || 1;
  const { toDevice, toHost } = view.copies;
  const device = Math.max(0, time.copy - toDevice - toHost);
  return {
    gpu: (time.compute + device) / step,
    data: (time.idle_data + Math.min(time.copy, toDevice)) / step,
    comms: (time.comms_transfer + time.comms_wait + time.idle_comms) / step,
    host: (time.idle_host + time.idle_sync + time.idle_compile + Math.min(time.copy, toHost)) / step,
    other: time.idle_other / step,
  };
}

type Class = 'gpu' | 'data' | 'comms' | 'host';

function nameOf(shares: Shares, lateComputing: number): Class {
  if (shares.gpu >= BUSY) return 'gpu';
  const others = (['data', 'comms', 'host'] as const).toSorted((a, b) => shares[b] - shares[a]);
  const best = others[0]!;
  return shares[best] >= Math.max(leastBeside(shares.gpu), lateComputing) ? best : 'gpu';
}

/** What a class must take of the step to be named beside a device that computes for this share of it. */
const leastBeside = (gpu: number) => Math.max(WORTH_NAMING, BESIDE_GPU * gpu);

/** From how far shares are from those at which another class would be named; computing beside a wait is no rival of it. */
function certaintyOf(shares: Shares, named: Class, lateComputing: number): number {
  const rivals = (['data', 'comms', 'host'] as const).filter((c) => c !== named).map((c) => shares[c]);
  if (named === 'gpu') return 0.55 + Math.min(0.42, Math.abs(shares.gpu - Math.max(...rivals)) * 0.7);
  const beside = Math.max(leastBeside(shares.gpu), lateComputing);
  return 0.6 + Math.min(0.37, (shares[named] - Math.max(...rivals, beside)) * 0.7);
}

/** The next one, if it is close: something that is waited for rather than computing, which there is beside any wait. */
function runnerUp(shares: Shares, named: Class): Class | null {
  const rivals = (['data', 'comms', 'host'] as const).toSorted((a, b) => shares[b] - shares[a]);
  const isClose = (c: Class) =>
    c !== named && shares[c] * CLOSE >= shares[named] && shares[c] >= WORTH_NAMING;
  return [...rivals, 'gpu' as const].find(isClose) ?? null;
}

/**
 * One rank's verdict, and how far it can be trusted. `lateComputing`: the share of the step that all wait for a rank
 * which computes longer than the others. Computing is what a GPU is there for, but that could be won back.
 */
export function judge(view: RankView, lateComputing = 0): RankVerdict {
  const shares = sharesOf(view);
  const { facts } = view;
  const named = nameOf(shares, lateComputing);
  const second = runnerUp(shares, named);
  const doubts: string[] = [];
  let confidence = certaintyOf(shares, named, lateComputing);
  const doubt = (by: number, text: string) => {
    confidence -= by;
    doubts.push(text);
  };
  const other = otherCorrection(view, named, lateComputing);
  // Two that are close are both named: which of them comes first matters less.
  if (other !== null)
    doubt(other === second ? 0.05 : 0.2, "the profiler's own cost decides between two answers");
  if (facts.steps.source === 'window') doubt(0.2, 'the trace is not divided into steps');
  else if (facts.steps.count < 2) doubt(0.12, 'only one step could be measured');
  if (facts.steps.irregular && facts.steps.count > 1 && facts.steps.count < 6) {
    doubt(0.1, 'steps differ much and there are few of them');
  }
  if (!(view.step >= SHORTEST_STEP_NS)) doubt(0.6, 'hardly anything happens in the recorded window');
  if (
    view.source === 'trace' &&
    view.facts.input.inWorkers > 0 &&
    named !== 'data' &&
    facts.steps.count < FEW_STEPS &&
    !view.measuredUnprofiled
  ) {
    doubt(0.05, 'few steps: batches may have been prepared while the profiler started');
  }
  if (shares.other > 0.3) doubt(0.3 * shares.other, 'much idle time has no recorded reason');
  if (view.source === 'trace' && view.baseline && !view.baseline.faithful)
    doubt(0.1, 'replaying the step does not reproduce it');
  if (facts.phases) {
    const { allHost, hostPaced } = facts.phases;
    const atMost = (most: number, text: string) => {
      confidence = Math.min(confidence, most);
      doubts.push(text);
    };
    if (allHost || named === 'data' || named === 'comms') doubt(0.1, 'phases say less than a trace');
    // The whole step on the device's clock looks like computing, however idle the device is inside it.
    else if (hostPaced === null && named === 'gpu')
      atMost(MOST_FROM_PHASES, 'phases cannot tell computing from waiting for launches');
    else if (hostPaced === null) doubt(0.1, 'phases say less than a trace');
    else if (named === 'gpu') atMost(MOST_FROM_LAGS, 'phases say less than a trace');
    else atMost(MOST_HOST_PACED, 'for how long the device idled at the host’s pace is not known');
  } else if (view.source === 'trace' && !view.facts.hasHostEvents)
    doubt(0.25, 'no host events were recorded');
  const bottleneck: Bottleneck = named === 'gpu' && !facts.hasGpuWork ? 'compute' : named;
  return {
    bottleneck,
    second: second && asBottleneck(second, view),
    confidence: Math.max(0, Math.round(confidence * 100) / 100),
    shares,
    doubts,
  };
}

const asBottleneck = (c: Class, view: RankView): Bottleneck =>
  c === 'gpu' && !view.facts.hasGpuWork ? 'compute' : c;

/** The answer that comes out instead at an end of what the profiler may have cost. */
function otherCorrection(view: RankView, named: Class, lateComputing: number): Class | null {
  if (view.source === 'log' || !view.baseline || view.measuredUnprofiled) return null;
  const { baseline } = view;
  const answers = [baseline.correctedLow, baseline.correctedHigh].map((step) => {
    const shift = step - baseline.corrected;
    const host = ns(Math.max(0, view.time.idle_host + shift));
    return nameOf(sharesOf(view, { ...view.time, idle_host: host }), lateComputing);
  });
  return answers.find((answer) => answer !== named) ?? null;
}
