import { largest } from '../../base/statistics.js';
import { type Share, share } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import { isMeasured } from '../../facts/step-facts.js';
import { sumOfClasses } from '../../facts/time-class.js';
import { emptyingQueue } from './prefetch-queue.js';

/** The classes a verdict can name. `gpu` is called `compute` for a job without GPU. */
export type VerdictClass = 'gpu' | 'data' | 'comms' | 'host';
const WAITS = ['data', 'comms', 'host'] as const;

/** A step's time by what would have to change to win it back. The shares add up to 1. */
export interface Shares extends Readonly<Record<VerdictClass, Share>> {
  /** Idle between queued kernels, and idle for no recorded reason. */
  readonly other: Share;
  /** The computing is the host's: there is no GPU. */
  readonly onHost: boolean;
}

/** A rank, the class to name, and what that was decided on. */
export interface Judgment {
  readonly view: RankView;
  readonly shares: Shares;
  readonly best: VerdictClass;
  /** A close runner-up. */
  readonly second: VerdictClass | null;
  /** Share of the step in which all ranks wait for one that computes longer. Unlike other computing, it can be won back. */
  readonly lateComputing: number;
}

/** With less confidence the answer is "unknown" (docs/method/confidence.md). */
export const SURE_ENOUGH = 0.5;
/** The GPU is the bottleneck when it computes for this share of the step (docs/method/verdict.md). */
export const BUSY = 0.85;
/** A smaller share is never named (docs/method/verdict.md; XProf and the TensorBoard plugin use 5–20%). */
export const MIN_NAMED = 0.1;
/** A wait must take at least this part of the GPU's computing time to be named instead of it. */
const BESIDE_GPU = 0.25;
/**
 * The same for input without a GPU: workers that take it over compute on the same cores as the model. The larger one is named, the
 * wait if they are alike.
 */
const INPUT_BESIDE_CPU = 0.8;
/** A runner-up within this factor is named too (docs/method/verdict.md). */
export const CLOSE = 1.5;

/**
 * A training step reads values back, such as its loss: the host waits for them. Other programs copy their results, as they copy
 * their input, and so does a benchmark of copies.
 */
export const copiesResults = (view: RankView): boolean =>
  view.source === 'trace' && (!view.facts.program.torch || view.facts.accelerator.kernels === 0);

export function sharesOf(view: RankView, time = view.time): Shares {
  const step = sumOfClasses(time) || 1;
  const { toDevice, toHost } = view.copies;
  const onDevice = Math.max(0, time.copy - toDevice - toHost);
  const results = copiesResults(view) ? Math.min(time.copy, toHost) : 0;
  const reads = copiesResults(view) ? 0 : Math.min(time.copy, toHost);
  return {
    gpu: share((time.compute + onDevice) / step),
    data: share((time.idle_data + Math.min(time.copy, toDevice) + results) / step),
    comms: share((time.comms_transfer + time.comms_wait + time.idle_comms) / step),
    host: share((time.idle_host + time.idle_sync + time.idle_compile + reads) / step),
    other: share(time.idle_other / step),
    onHost: !view.facts.hasGpuWork,
  };
}

export function judgmentOf(view: RankView, lateComputing: number): Judgment {
  const shares = sharesOf(view);
  const best = bestClass(shares, lateComputing);
  // The waits are yet to come. What the recorded steps show comes second.
  if (best !== 'data' && emptyingQueue(view))
    return { view, shares, best: 'data', second: best, lateComputing };
  const recorded = sharesAsRecorded(view);
  const before = recorded && bestClass(recorded, lateComputing);
  // An estimate this large must not decide: what was recorded is named, and what the estimate says comes second.
  if (recorded && before && before !== best && view.step.unprofiled < TRUSTED_CORRECTION * view.step.recorded)
    return { view, shares: recorded, best: before, second: best, lateComputing };
  return { view, shares, best, second: runnerUp(shares, best), lateComputing };
}

/** In no loop of the zoo whose answer changes does the correction take more than 45% of the step. Beyond, nothing was measured. */
const TRUSTED_CORRECTION = 0.5;

/** With the profiler's cost in the step. Null: the step was measured without the profiler. */
export const sharesAsRecorded = (view: RankView): Shares | null =>
  view.source === 'log' || isMeasured(view.step) ? null : sharesOf(view, view.facts.time);

/** The largest wait, if it is large enough next to computing. Else the GPU. */
export function bestClass(shares: Shares, lateComputing: number): VerdictClass {
  if (shares.gpu >= BUSY) return 'gpu';
  const wait = largestWaits(shares)[0]!;
  return shares[wait] >= leastNamed(wait, shares, lateComputing) ? wait : 'gpu';
}

const largestWaits = (shares: Shares) => WAITS.toSorted((a, b) => shares[b] - shares[a]);

/** The share from which a wait is named. */
function leastNamed(wait: VerdictClass, shares: Shares, lateComputing: number): number {
  const beside = wait === 'data' && shares.onHost ? INPUT_BESIDE_CPU : BESIDE_GPU;
  return Math.max(MIN_NAMED, beside * shares.gpu, lateComputing);
}

/** Confidence from the distance to the nearest other answer, before any doubts. */
export function certaintyOf({ shares, best, lateComputing }: Judgment): number {
  const otherWait = largest(WAITS.filter((c) => c !== best).map((c) => shares[c]));
  if (best === 'gpu') return 0.55 + Math.min(0.42, Math.abs(shares.gpu - otherWait) * 0.7);
  // Input that steps will wait for once the prefetch queue is empty does not lead yet.
  const lead = Math.max(0, shares[best] - Math.max(otherWait, leastNamed(best, shares, lateComputing)));
  return 0.6 + Math.min(0.37, lead * 0.7);
}

/** Another wait that is close, else the GPU if it is: there is computing next to every wait. */
function runnerUp(shares: Shares, best: VerdictClass): VerdictClass | null {
  const isClose = (c: VerdictClass) =>
    c !== best && shares[c] * CLOSE >= shares[best] && shares[c] >= MIN_NAMED;
  return [...largestWaits(shares), 'gpu' as const].find(isClose) ?? null;
}
