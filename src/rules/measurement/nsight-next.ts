import { formatMs, formatPercent, ns, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../../diagnosis/run-facts.js';
import type { DeviceKind } from '../../facts/accelerator.js';
import { about, use } from '../../remedies/remedies.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { atKernel, shortened, timeEvidence } from '../kit/evidence.js';
import { found, silent, type TraceRule, threshold } from '../kit/rule.js';

const HOT = threshold(
  'one kernel',
  share(0.3),
  'of the step',
  'our judgment: below it, making the kernel twice as fast gains less than 15%',
);
const UNSEEN = threshold(
  'time that the trace does not explain',
  share(0.15),
  'of the step',
  'our judgment: the smaller gaps of the zoo’s loops are Python between operators',
);

/** Libraries have tuned these already; their own rules say what else to do. */
const TUNED: readonly KernelTotal['class'][] = ['gemm', 'conv', 'attention', 'rnn', 'comms', 'copy', 'wait'];

export const rule: TraceRule = {
  reads: 'traces',
  servesToo: true,
  unpriced: 'allowed',
  info: {
    id: 'nsight-next',
    alias: 'T20',
    title: 'Nsight shows what torch.profiler does not',
    needs: 'trace, or an nsys export (SQLite)',
    looksFor:
      'A GPU-bound step in which one kernel that no library has tuned takes a large part: Nsight Compute shows what limits it. A host-bound step with time that no event explains: Nsight Systems shows calls of the operating system.',
    why: 'torch.profiler records the names and times of kernels, not what they wait for, and nothing that a thread does outside PyTorch.',
    more: 'To record chosen steps: nsys profile --capture-range=cudaProfilerApi --capture-range-end=stop, and in the script torch.cuda.cudart().cudaProfilerStart() before them and cudaProfilerStop() after them.',
    ...about('nsight'),
    thresholds: [HOT, UNSEEN],
  },
  check(view, run) {
    const { bottleneck } = run.verdict;
    if (toolsOf(view) === null) return silent('neither Nsight nor ROCm’s tools know this device');
    if (bottleneck === 'gpu') return hotKernel(view, run);
    if (bottleneck === 'host') return unseenTime(view, run);
    return silent('neither the GPU nor the host is the bottleneck');
  },
};

/** Tools for one kernel and for the whole system, by the device that they know. */
const TOOLS: { readonly [kind in DeviceKind]?: { readonly compute: string; readonly systems: string } } = {
  cuda: { compute: 'Nsight Compute', systems: 'Nsight Systems' },
  rocm: { compute: 'rocprof-compute', systems: 'rocprofv3' },
};
const toolsOf = ({ facts }: TraceView) => TOOLS[facts.accelerator.kind] ?? null;
const isRocm = ({ facts }: TraceView) => facts.accelerator.kind === 'rocm';

function hotKernel(view: TraceView, { job }: RunFacts) {
  const { kernels, detail, steps } = view.facts;
  const hot = kernels.find((k) => k.source !== 'runtime');
  if (!hot || !detail) return silent('no kernels are known');
  if (kernels.some((k) => k.class === 'comms'))
    return silent('Nsight Compute replays kernels, which would hold up the collectives of other ranks');
  const perStep = ns(hot.total / detail.steps);
  const part = share(perStep / steps.recorded);
  if (part < HOT.value) return silent(`the largest kernel takes ${formatPercent(part)} of the step`);
  if (TUNED.includes(hot.class)) return silent(`the largest kernel is a tuned one (${hot.class})`);
  const text = `${shortened(hot.name)}: ${formatMs(perStep)} per step (${formatPercent(part)}), ${Math.round(hot.count / detail.steps)} launches`;
  return found({
    id: 'hot-kernel',
    title: `one kernel takes much of the step: ${toolsOf(view)!.compute} shows what limits it`,
    confidence: 0.6,
    addresses: null,
    evidence: [atKernel(hot, timeEvidence(view, perStep, text))],
    price: null,
    remedy: use('nsight', { job, kernel: hot.name, tool: 'compute', isRocm: isRocm(view) }),
  });
}

function unseenTime(view: TraceView, { job }: RunFacts) {
  const unseen = view.time.idle_other;
  const part = share(unseen / view.step.unprofiled);
  if (part < UNSEEN.value) return silent('the trace explains where the host’s time goes');
  return found({
    id: 'unseen-time',
    title: `the trace does not show what the host does: ${toolsOf(view)!.systems} does`,
    confidence: 0.6,
    addresses: null,
    evidence: [
      timeEvidence(view, unseen, `no event explains ${formatMs(unseen)} per step (${formatPercent(part)})`),
    ],
    price: null,
    remedy: use('nsight', { job, tool: 'systems', isRocm: isRocm(view) }),
  });
}
