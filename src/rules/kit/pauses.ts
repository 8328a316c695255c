import { bytes, formatCount, formatMs, formatPercent, type Ns, ns, share, toMs } from '../../base/units.js';
import { type TraceView, unseenGpu } from '../../diagnosis/ranks/rank-view.js';
import { LEAST_PAUSE_NS, type Pause } from '../../traces/detail/pauses.js';
import { atSpan, evidence, timeEvidence } from './evidence.js';
import type { Evidence } from './finding.js';
import { type Silent, silent, threshold, WITHIN_NOISE } from './rule.js';
import { isCopyToHost, workTime } from './work.js';

/** Gaps of several milliseconds in which the training threads make no PyTorch call. */

export const PAUSE = threshold(
  'pause',
  toMs(ns(LEAST_PAUSE_NS)),
  'ms',
  'Python between operators: 0.01–2 ms in the zoo',
);
export const PAUSES = threshold('pauses', share(0.05), 'of the step', WITHIN_NOISE);
/** What writing a checkpoint copies to the host in a step: many tensors, megabytes. */
export const CHECKPOINT = threshold(
  'copied to the host',
  bytes(8e6),
  'bytes per step',
  'not measured: two million parameters in fp32',
);
const CHECKPOINT_TENSORS = 10;
const SEVERAL_STEPS = 3;

export interface Pauses {
  readonly perStep: Ns;
  readonly longest: Pause;
  /** In one of several steps only: how often it comes is not known. */
  readonly once: boolean;
  /** Megabytes go to the host in these steps: as the many tensors of a checkpoint, or as a few that something is done with. */
  readonly copied: 'checkpoint' | 'results' | null;
  readonly evidence: Evidence;
}

/** The pauses of a rank, if they are worth naming. */
export function pausesOf(view: TraceView): Pauses | Silent {
  const { detail } = view.facts;
  if (!detail?.pauses.longest) return silent('the training threads do not pause');
  if (unseenGpu(view)) return silent('no GPU work was recorded: the pauses may be waits for the GPU');
  const { longest, total, count, inSteps, inCall } = detail.pauses;
  const once = inSteps === 1 && detail.steps >= SEVERAL_STEPS;
  const perStep = ns(total / detail.steps);
  // Of the step in which they were recorded: the step without the profiler may be shorter than its pauses.
  const part = share(Math.min(1, perStep / view.facts.steps.recorded));
  if (part < PAUSES.value) return silent(`pauses are ${formatPercent(part)} of the step`);
  const toHost = bytesToHost(view);
  const tensors = workTime(view, isCopyToHost).count;
  const copied = toHost < CHECKPOINT.value ? null : tensors < CHECKPOINT_TENSORS ? 'results' : 'checkpoint';
  const call = inCall
    ? `; ${formatPercent(share(inCall.time / total))} of it in ${inCall.name}()${meaningOf(inCall.name)}`
    : '';
  const megabytes = copied ? `, and ${(toHost / 1e6).toFixed(0)} MB per step are copied to the host` : '';
  const seen = `${formatCount(count, 'pause')} in ${formatCount(detail.steps, 'step')}, up to ${formatMs(ns(longest.dur))}, without a single PyTorch call`;
  const told = once
    ? evidence(view, `${seen}, in one step only${megabytes}${call}`, toMs(longest.dur), 'ms')
    : timeEvidence(
        view,
        perStep,
        `${seen}: ${formatMs(perStep)} per step (${formatPercent(part)})${megabytes}${call}`,
      );
  return { perStep, longest, once, copied, evidence: atSpan(longest, told) };
}

/** What a call of the operating system waits for, where that is certain. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/^(?:p?write|fwrite|fsync|fdatasync|sync)/, ', which writes a file'],
  [/^(?:sem_|pthread_(?:cond|mutex|rwlock)|futex)/, ', which waits for another thread'],
  [/^(?:poll|ppoll|select|pselect|epoll)/, ', which waits for another process or a device'],
  [/^(?:nanosleep|clock_nanosleep|usleep|sleep)/, ', which sleeps'],
];

const meaningOf = (call: string) => MEANINGS.find(([names]) => names.test(call))?.[1] ?? '';

/** Bytes per step. Collectives of gloo copy through the host too: then megabytes there mean nothing. */
function bytesToHost(view: TraceView): number {
  if (view.time.idle_comms + view.time.comms_transfer > 0) return 0;
  const total = view.facts.kernels.reduce((n, k) => n + (isCopyToHost(k) ? k.bytes : 0), 0);
  return total / (view.facts.detail?.steps ?? 1);
}
