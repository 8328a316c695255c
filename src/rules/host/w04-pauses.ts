import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { removeCalls, takeFromLongest } from '../../replay/edits.js';
import { LEAST_PAUSE_NS } from '../../traces/detail/pauses.js';
import {
  at,
  copiesToHost,
  count,
  evidence,
  inMs,
  ms,
  percent,
  priceOf,
  silent,
  workTime,
  worthwhile,
} from '../kit/kit.js';
import type { RankFinding, TraceRule } from '../kit/rule.js';

const SHARE = 0.03;
const PAUSE_SHARE = 0.05;
/** A checkpoint is megabytes copied to the host in a step. */
const CHECKPOINT_BYTES = 8e6;
const CHECKPOINT_TENSORS = 10;

const ALLOCATES =
  /^(?:cuda|hip)(?:Malloc|Free|HostAlloc|FreeHost|HostFree|HostMalloc|MallocHost)$|^cuMem(?:Create|Release|Map|Unmap|AddressReserve|SetAccess)$/;

export const pauses: TraceRule = {
  reads: 'traces',
  info: {
    id: 'W4',
    title: 'The step pauses: allocator, garbage collection, checkpoint writes',
    needs: 'trace',
    looksFor:
      'cudaMalloc and cudaFree inside steps; times of milliseconds in which the training threads call nothing; large copies to the host (a checkpoint being written).',
    why: 'cudaFree waits for the whole device, a checkpoint written on the training thread stops it, Python’s collector walks all objects.',
    fix: {
      text: 'Let the allocator keep its memory (no empty_cache in the loop), collect garbage at set steps only, write checkpoints asynchronously and rarely.',
      code: 'PYTORCH_ALLOC_CONF=expandable_segments:True     # environment\ngc.disable(); ... ; if step % 1000 == 0: gc.collect()\ntorch.distributed.checkpoint.async_save(state, checkpoint_id=path)',
    },
    check: 'Watch memory over a few thousand steps after turning the collector off.',
    cost: 'code',
    risk: 'memory',
    thresholds: [
      {
        name: 'allocator calls',
        value: SHARE,
        unit: 'of the step',
        source: 'below it the gain is within noise',
      },
      {
        name: 'pause',
        value: LEAST_PAUSE_NS / 1e6,
        unit: 'ms',
        source: 'Python between operators: 0.01–2 ms in the zoo',
      },
      {
        name: 'pauses',
        value: PAUSE_SHARE,
        unit: 'of the step',
        source: 'below it the gain is within noise',
      },
    ],
  },
  check(view) {
    const findings = [...allocator(view), ...silences(view)];
    return findings.length > 0 ? { findings } : silent('no allocator calls or pauses that cost anything');
  },
};

function allocator(view: TraceView): RankFinding[] {
  const { detail } = view.facts;
  if (!detail) return [];
  const calls = detail.operators.filter((o) => ALLOCATES.test(o.name));
  const perStep = calls.reduce((ns, o) => ns + o.total, 0) / detail.steps;
  const perStepCalls = calls.reduce((n, o) => n + o.count, 0) / detail.steps;
  if (perStepCalls < 1 || perStep < SHARE * view.step) return [];
  const price = priceOf(view, (plan) =>
    takeFromLongest(plan.nodes.hostWork, perStep * plan.steps.length, Number.POSITIVE_INFINITY),
  );
  return [
    {
      id: 'allocator-churn',
      title: 'device memory is allocated and freed inside the steps',
      confidence: 0.88,
      addresses: 'host',
      evidence: [
        evidence(
          view,
          `${calls.map((o) => o.name).join(', ')}: ${perStepCalls.toFixed(0)} calls a step, ${ms(perStep)} (${percent(perStep / view.step)})`,
          inMs(perStep),
          'ms/step',
        ),
      ],
      price: worthwhile(price) ? price : null,
      fix: {
        text: 'Take torch.cuda.empty_cache() out of the loop; with changing shapes let segments grow instead of being replaced.',
        code: '# no torch.cuda.empty_cache() in the step\nPYTORCH_ALLOC_CONF=expandable_segments:True python train.py',
      },
    },
  ];
}

function silences(view: TraceView): RankFinding[] {
  const { detail } = view.facts;
  if (!detail) return [];
  const { longest, total } = detail.pauses;
  const perStep = total / detail.steps;
  if (longest === null || perStep < PAUSE_SHARE * view.step) return [];
  const toHost = copiedToHost(view);
  // Collectives of gloo copy through the host too: then megabytes there say nothing.
  const communicates = view.time.idle_comms + view.time.comms_transfer > 0;
  const checkpoint = toHost >= CHECKPOINT_BYTES && !communicates;
  const price = priceOf(view, (plan) => {
    takeFromLongest(plan.nodes.hostWork, perStep * plan.steps.length, longest.dur);
    // Writing a checkpoint: a copy of each tensor, and Python between the copies.
    if (checkpoint) removeCalls(plan, (n) => copiesToHost(plan, n));
  });
  if (price && !worthwhile(price)) return [];
  return [
    {
      id: checkpoint ? 'checkpoint-in-step' : 'host-pause',
      title: checkpoint
        ? 'a checkpoint is written on the training thread'
        : 'the training thread pauses outside PyTorch',
      confidence: checkpoint ? 0.75 : 0.6,
      addresses: 'host',
      evidence: [
        at(
          evidence(
            view,
            `${count(detail.pauses.count, 'pause')} in ${count(detail.steps, 'step')}, up to ${ms(longest.dur)}, without a single PyTorch call: ${ms(perStep)} a step (${percent(perStep / view.step)})${checkpoint ? `, and ${(toHost / 1e6).toFixed(0)} MB a step are copied to the host` : ''}`,
            inMs(perStep),
            'ms/step',
          ),
          longest.ts,
          longest.dur,
          longest.step,
        ),
      ],
      price,
      fix: checkpoint
        ? {
            text: 'Write checkpoints rarely, and in the background.',
            code: 'if step % 1000 == 0:\n    torch.distributed.checkpoint.async_save(state, checkpoint_id=path)',
          }
        : {
            text: 'Find what runs there: garbage collection (gc.freeze(), collect at set steps), logging, file writes, data made by hand. A stack at that moment says which.',
            code: 'py-spy dump --pid <training process>      # during a pause\ngc.disable(); gc.collect() every 1000 steps',
          },
    },
  ];
}

/** Bytes a step that go to the host tensor by tensor; 0 when it is a few pieces only. */
function copiedToHost(view: TraceView): number {
  const steps = view.facts.detail?.steps ?? 1;
  if (workTime(view, (k) => k.copy?.direction === 'DtoH').count < CHECKPOINT_TENSORS) return 0;
  return view.facts.kernels.reduce((n, k) => n + (k.copy?.direction === 'DtoH' ? k.bytes : 0), 0) / steps;
}
