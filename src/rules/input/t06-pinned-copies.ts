import type { LogView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import { skipWaits } from '../../replay/edits.js';
import { type Plan, SYNC } from '../../replay/plan.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import {
  at,
  evidence,
  inMs,
  ms,
  percent,
  priceOf,
  silent,
  topKernel,
  workTime,
  worthwhile,
} from '../kit/kit.js';
import type { AnyRule, Edit, Level, RuleResult } from '../kit/rule.js';

const EXPOSED = 0.03;
/** Of the host link's peak that copies from pinned memory reach (zoo, 256 MB: 0.86). */
const LINK_REACHED: Readonly<Record<Level, number>> = { low: 0.6, likely: 0.85, high: 0.95 };

/** Of the device's time for copies, what the host may need to start them: 0.09 of 0.6 ms on an H200. */
const ASYNCHRONOUS = 0.5;
const toDevice = (k: KernelTotal) => k.copy?.direction === 'HtoD';
const isPageable = (k: KernelTotal) => toDevice(k) && k.copy?.hostMemory === 'pageable';

export const pinnedCopies: AnyRule = {
  reads: 'traces and logs',
  info: {
    id: 'T6',
    title: 'Batches are copied from pageable memory, or the host waits for the copy',
    needs: 'trace, events or script',
    looksFor:
      'Memcpy HtoD (Pageable -> Device) with the GPU waiting for it, or copies from pinned memory in which the host waits.',
    why: 'The driver copies pageable memory through a small staging buffer at a fraction of the link and blocks the host meanwhile. Either setting alone does nothing: only pinned memory can be copied asynchronously, and only non_blocking=True asks for it.',
    fix: {
      text: 'Pin the batches and copy them without waiting: both are needed.',
      code: 'loader = DataLoader(..., pin_memory=True)\nx = x.to(device, non_blocking=True)',
    },
    check:
      'Do not change a pinned batch on the host before the step that uses it has been launched and has run.',
    cost: 'knob',
    risk: 'memory',
    thresholds: [
      {
        name: 'exposed copies',
        value: EXPOSED,
        unit: 'of the step',
        source: 'gain worth a change; below it is noise',
      },
      {
        name: 'link reached when pinned',
        value: LINK_REACHED.likely,
        unit: 'of peak',
        source: 'zoo h2d_pinned: 55 of 64 GB/s',
      },
    ],
  },
  check(view) {
    if (view.source === 'log') return fromPhases(view);
    const pageable = workTime(view, isPageable);
    const all = workTime(view, toDevice);
    if (all.count === 0) return silent('nothing is copied to the device in a step');
    const exposed = view.copies.toDevice;
    const price = priceOf(view, pinAndOverlap(view));
    // Without rates of the device a faster copy cannot be priced, but waiting that is seen can be named.
    if (view.rates === null && pageable.ns >= EXPOSED * view.step)
      return { findings: [pageableFinding(view, pageable.ns, exposed, null)] };
    if (!worthwhile(price) || price.speedup.likely < 1 + EXPOSED) {
      return silent(
        pageable.count > 0
          ? 'pageable copies are small or hidden'
          : 'copies are pinned and nobody waits for them',
      );
    }
    if (pageable.ns >= 0.2 * all.ns && pageable.ns > 0)
      return { findings: [pageableFinding(view, pageable.ns, exposed, price)] };
    return {
      findings: [
        {
          id: 'blocking-copy',
          title: 'the host waits for copies from pinned memory',
          confidence: 0.85,
          addresses: 'data' as const,
          evidence: [
            place(
              view,
              toDevice,
              `copies to the device take ${ms(all.ns)} a step, ${ms(exposed)} of it with nothing else running, and the host stands in them`,
              exposed,
            ),
          ],
          price,
          fix: {
            text: 'The memory is pinned: ask for the copy without waiting.',
            code: 'x = x.to(device, non_blocking=True)',
          },
        },
      ],
    };
  },
};

function pageableFinding(view: TraceView, ns: number, exposed: number, price: ReturnType<typeof priceOf>) {
  return {
    id: 'pageable-copy',
    title: 'batches are copied from pageable memory and the GPU waits',
    confidence: 0.93,
    addresses: 'data' as const,
    evidence: [
      place(
        view,
        isPageable,
        `Memcpy HtoD (Pageable -> Device): ${ms(ns)} a step, ${ms(exposed)} exposed (${percent(exposed / view.step)} of the step)${rate(view)}`,
        exposed,
      ),
    ],
    price,
  };
}

function rate(view: TraceView): string {
  const copy = topKernel(view, isPageable);
  return copy && copy.bytes > 0 ? ` at ${(copy.bytes / copy.total).toFixed(1)} GB/s` : '';
}

function place(view: TraceView, test: (k: KernelTotal) => boolean, text: string, ns: number) {
  const seen = evidence(view, text, inMs(ns), 'ms/step');
  const copy = topKernel(view, test);
  return copy ? at(seen, copy.longestTs, copy.longest) : seen;
}

/** Copies run at the link's rate and the host goes on at once. */
function pinAndOverlap(view: TraceView): Edit {
  return (plan, level) => {
    const { works } = plan;
    const link = view.rates ? view.rates.hostLinkGBps * LINK_REACHED[level] : null;
    for (let w = 0; w < works.length; w++) {
      if (link === null || !isPageable(view.facts.kernels[works.kernel[w]!]!) || !(works.bytes[w]! > 0))
        continue;
      works.duration[w] = Math.min(works.duration[w]!, works.bytes[w]! / link);
    }
    skipWaits(
      plan,
      (n) => copiesToDevice(view, plan, n) || (plan.nodes.kind[n] === SYNC && followsCopy(view, plan, n)),
    );
  };
}

function copiesToDevice(view: TraceView, plan: Plan, n: number): boolean {
  const { firstWork, workCount } = plan.nodes;
  return workCount[n] === 1 && toDevice(view.facts.kernels[plan.works.kernel[firstWork[n]!]!]!);
}

/** `copy_` synchronises the stream after a blocking copy. */
function followsCopy(view: TraceView, plan: Plan, n: number): boolean {
  return n > 0 && (plan.nodes.roles[n]! & Role.copies) !== 0 && copiesToDevice(view, plan, n - 1);
}

/** A log of phases shows the copy, not the memory it comes from. */
function fromPhases(view: LogView): RuleResult {
  const exposed = view.copies.toDevice;
  if (exposed < EXPOSED * view.step) return silent(`copies are ${percent(exposed / view.step)} of the step`);
  const onHost = view.facts.phases.copyingHost;
  // A copy from pageable memory, or one that is waited for, takes the host as long as the device.
  if (onHost !== null && onHost < ASYNCHRONOUS * exposed)
    return silent('copies are asynchronous already: the host goes on at once');
  const text = `host_to_device: ${ms(exposed)} a step (${percent(exposed / view.step)})`;
  return {
    findings: [
      {
        id: 'exposed-copy',
        title: 'each step waits for its batch to be copied',
        confidence: 0.55,
        addresses: 'data',
        evidence: [evidence(view, text, inMs(exposed), 'ms/step')],
        price: null,
      },
    ],
  };
}
