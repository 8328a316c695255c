import { formatMs, type Ns, ns, share } from '../../base/units.js';
import type { LogView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about, use } from '../../remedies/remedies.js';
import { skipWaits } from '../../replay/edits.js';
import { type Plan, SYNC } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import { atKernel, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { loadsBatches } from '../kit/loader.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import {
  type AnyRule,
  type Edit,
  found,
  type Levels,
  type Price,
  type RuleResult,
  silent,
  threshold,
} from '../kit/rule.js';
import { editWork, has, isCopyToDevice, topKernel, workTime } from '../kit/work.js';

const EXPOSED = threshold('exposed copies', share(0.03), 'of the step', 'a smaller gain is within noise');
const SMALL = threshold(
  'tiny copies',
  share(0.001),
  'of the step',
  'not measured: a rate of 20 GB/s copies 20 kB per millisecond of step',
);
/** Of the host link's peak that copies from pinned memory reach. */
const LINK_REACHED: Levels = { low: 0.6, likely: 0.85, high: 0.95 };
/** Of the device's time for copies, what the host may need to start them: 0.09 of 0.6 ms on an H200. */
const ASYNCHRONOUS = 0.5;
/** Part of the copied time that must be pageable for pinning to be the fix. */
const MOSTLY_PAGEABLE = 0.2;

const isPageable = (k: KernelTotal) => isCopyToDevice(k) && k.copy?.hostMemory === 'pageable';

export const rule: AnyRule = {
  reads: 'traces and logs',
  unpriced: 'allowed',
  info: {
    id: 'pageable-copies',
    alias: 'T6',
    title: 'Batches are copied from pageable memory, or the host waits for the copy',
    needs: 'trace, events or script',
    looksFor:
      'Memcpy HtoD (Pageable -> Device) with the GPU waiting for it, or copies from pinned memory that the host waits for.',
    why: 'The driver copies pageable memory through a small staging buffer, at a fraction of the link’s rate, and blocks the host meanwhile. Neither setting helps alone: only pinned memory can be copied asynchronously, and only non_blocking=True asks for it.',
    more: 'whyslow_capture.to_device(batch, device) copies nested batches without waiting, and warns once if their memory is not pinned.',
    ...about('pinned-copies'),
    thresholds: [
      EXPOSED,
      SMALL,
      threshold(
        'link rate reached when pinned',
        LINK_REACHED.likely,
        'of peak',
        'zoo h2d_pinned: 55 of 64 GB/s',
      ),
    ],
  },
  check(view) {
    if (view.source === 'log') return fromPhases(view);
    const pageable = workTime(view, isPageable);
    const all = workTime(view, isCopyToDevice);
    if (all.count === 0) return silent('nothing is copied to the device in a step');
    if (all.ns < SMALL.value * view.step.unprofiled)
      return silent('copies are tiny; that the host waits for them is a matter of host-sync');
    // Without the device's rates a faster copy cannot be priced, but the exposed time can still be named.
    if (view.rates === null && pageable.ns >= EXPOSED.value * view.step.unprofiled)
      return pageableCopy(view, pageable.ns, null);
    const price = priceOf(view, pinAndOverlap(view));
    if (!isWorthwhile(price))
      return silent(
        pageable.count > 0 ? 'pageable copies are small or hidden' : 'copies are pinned and asynchronous',
      );
    if (pageable.ns >= MOSTLY_PAGEABLE * all.ns && pageable.ns > 0)
      return pageableCopy(view, pageable.ns, price);
    const exposed = view.copies.toDevice;
    const text = `copies to the device take ${formatMs(all.ns)} per step, ${formatMs(exposed)} of it with nothing else running, and the host waits for them`;
    return found({
      id: 'blocking-copy',
      title: 'the host waits for copies from pinned memory',
      confidence: 0.85,
      addresses: 'data',
      evidence: [atKernel(topKernel(view, isCopyToDevice), timeEvidence(view, exposed, text))],
      price,
      remedy: use('pinned-copies', { pinned: true }),
    });
  },
};

function pageableCopy(view: TraceView, time: Ns, price: Price | null): RuleResult {
  // Copies from pinned memory are among those exposed, too.
  const exposed = ns(Math.min(time, view.copies.toDevice));
  const copy = topKernel(view, isPageable);
  const rate = copy && copy.bytes > 0 ? ` at ${(copy.bytes / copy.total).toFixed(1)} GB/s` : '';
  const saved = price ? view.step.unprofiled * (1 - 1 / price.speedup.likely) : 0;
  const waits = saved > exposed ? ', and the host waits for them' : '';
  const text = `Memcpy HtoD (Pageable -> Device): ${formatMs(time)} per step, ${formatMs(exposed)} exposed (${percentOfStep(view, exposed)} of the step)${rate}${waits}`;
  return found({
    id: 'pageable-copy',
    title: `${view.facts.program.task === 'training' || loadsBatches(view) ? 'batches are' : 'data is'} copied from pageable memory and the GPU waits`,
    confidence: 0.93,
    addresses: 'data',
    evidence: [atKernel(copy, timeEvidence(view, exposed, text))],
    price,
  });
}

/** Copies run at the link's rate and the host goes on at once. */
function pinAndOverlap(view: TraceView): Edit {
  return (plan, level) => {
    const link = view.rates ? view.rates.hostLinkGBps * LINK_REACHED[level] : null;
    if (link !== null)
      editWork(view, plan, isPageable, (copy) =>
        copy.bytes > 0 ? Math.min(copy.ns, copy.bytes / link) : copy.ns,
      );
    skipWaits(plan, (n) => copiesToDevice(view, plan, n) || followsCopy(view, plan, n));
  };
}

function copiesToDevice(view: TraceView, { nodes, works }: Plan, n: number): boolean {
  return nodes.workCount[n]! === 1 && isCopyToDevice(view.facts.kernels[works.kernel[nodes.firstWork[n]!]!]!);
}

/** `copy_` synchronizes the stream after a blocking copy. */
function followsCopy(view: TraceView, plan: Plan, n: number): boolean {
  const { kind, roles } = plan.nodes;
  return n > 0 && kind[n]! === SYNC && has(roles[n]!, Role.copies) && copiesToDevice(view, plan, n - 1);
}

/** A log of phases shows the copy, not the memory it comes from. */
function fromPhases(view: LogView): RuleResult {
  const exposed = view.copies.toDevice;
  const small = silentBelow(view, exposed, EXPOSED, 'copies are');
  if (small) return small;
  const onHost = view.facts.phases.copyingHost;
  // A copy from pageable memory, or one that is waited for, takes the host as long as the device.
  if (onHost !== null && onHost < ASYNCHRONOUS * exposed) return silent('copies are already asynchronous');
  const text = `host_to_device: ${formatMs(exposed)} per step (${percentOfStep(view, exposed)})`;
  return found({
    id: 'exposed-copy',
    title: 'each step waits for its batch to be copied',
    confidence: 0.55,
    addresses: 'data',
    evidence: [timeEvidence(view, exposed, text)],
    price: null,
  });
}
