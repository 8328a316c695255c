import { formatWholePercent, share } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { DeviceCounters } from '../../traces/detail/device-counters.js';
import type { Remark } from '../kit/claim.js';

/** From here on Nsight Compute calls a unit well used, and below it suspects latency (its rule "SOL bottleneck"). */
const WELL_USED = 0.6;
/** The device is less than half full. */
const HALF_EMPTY = 0.5;

/** `multiprocessors active 95%, tensor cores 12%, memory bandwidth 83%` */
export function countersText({ sm, tensor, dram }: DeviceCounters): string {
  const parts = [
    sm === null ? null : `multiprocessors active ${formatWholePercent(sm)}`,
    tensor === null ? null : `tensor cores ${formatWholePercent(tensor)}`,
    dram === null ? null : `memory bandwidth ${formatWholePercent(dram)}`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

/** What sets the pace inside the kernels, if the device's counters were sampled and show it. */
export function countersRemark({ views }: Observed): Remark | null {
  const counters = views.flatMap((view) => (view.source === 'trace' ? (view.facts.counters ?? []) : []))[0];
  const detail = counters && paceOf(counters);
  return detail ? { detail, qualifies: { bottleneck: 'gpu', cause: null, atMost: 1 } } : null;
}

function paceOf({ sm, tensor, dram }: DeviceCounters): string | null {
  if (dram !== null && dram >= WELL_USED && dram > (tensor ?? 0))
    return `The GPU’s counters show ${formatWholePercent(dram)} of its memory bandwidth in use while it computes: memory sets the pace, so fewer passes over the data (fused kernels) gain more than faster arithmetic`;
  if (sm !== null && sm < HALF_EMPTY)
    return `The GPU’s counters show ${formatWholePercent(share(1 - sm))} of its multiprocessors without work while it computes: the kernels are too small to fill it`;
  if (tensor !== null && tensor >= WELL_USED)
    return `The GPU’s counters show its tensor cores active ${formatWholePercent(tensor)} of the time that it computes: little is left to gain in matrix products`;
  return null;
}
