import { formatMs, share } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { removeOperators, takeFromLongest } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import { Role } from '../../traces/detail/roles.js';
import { percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { hostTime } from '../kit/host.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import { found, silent, type TraceRule, threshold, WITHIN_NOISE } from '../kit/rule.js';
import { has } from '../kit/work.js';

const CALLS = threshold('allocator calls', share(0.03), 'of the step', WITHIN_NOISE);

const ALLOCATES =
  /^(?:cuda|hip)(?:Malloc|Free|HostAlloc|FreeHost|HostFree|HostMalloc|MallocHost)$|^cuMem(?:Create|Release|Map|Unmap|AddressReserve|SetAccess)$/;

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  lines: /empty_cache/,
  unpriced: 'allowed',
  info: {
    id: 'allocator-churn',
    alias: 'W4',
    title: 'Device memory is allocated and freed inside the steps',
    needs: 'trace',
    looksFor: 'cudaMalloc and cudaFree inside steps, for a visible part of the step.',
    why: 'cudaFree waits for the whole device. A warm caching allocator calls neither.',
    ...about('keep-cache'),
    thresholds: [CALLS],
  },
  check(view) {
    const { ns, count, operators } = hostTime(view, (o) => ALLOCATES.test(o.name));
    const small = silentBelow(view, ns, CALLS, 'allocator calls are');
    if (small || count < 1) return small ?? silent('fewer than one allocator call per step');
    const price = priceOf(view, (plan) => withoutAllocations(plan, ns));
    const text = `${operators.map((o) => o.name).join(', ')}: ${count.toFixed(0)} calls per step, ${formatMs(ns)} (${percentOfStep(view, ns)})`;
    return found({
      id: 'allocator-churn',
      title: 'device memory is allocated and freed inside the steps',
      confidence: 0.88,
      addresses: 'host',
      evidence: [timeEvidence(view, ns, text)],
      price: isWorthwhile(price) ? price : null,
    });
  },
};

/** `perStep`: ns that all these calls take. If memory is freed, the plan has the call with its wait; allocations are in host work. */
function withoutAllocations(plan: Plan, perStep: number): void {
  const { nodes, steps } = plan;
  const frees = (n: number) => has(nodes.roles[n]!, Role.freesMemory);
  const freeing = nodes.call.reduce((sum, time, n) => (frees(n) ? sum + time : sum), 0);
  removeOperators(plan, frees);
  takeFromLongest(nodes.hostWork, perStep * steps.length - freeing, Number.POSITIVE_INFINITY);
}
