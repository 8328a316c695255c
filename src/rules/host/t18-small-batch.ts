import { median } from '../../base/statistics.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { Role } from '../../traces/detail/roles.js';
import { evidence, idleForLaunches, ms, percent, silent } from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';

const BUSY = 0.5;
const IDLE = 0.3;
const SHORT_KERNEL_NS = 20_000;

/** Whether there is a backward pass: accumulation and learning rates concern training only. */
const trains = (view: TraceView) =>
  (view.facts.detail?.operators ?? []).some((o) => (o.roles & Role.backward) !== 0);

export const smallBatch: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T18',
    title: 'Kernels are too small to fill the device',
    needs: 'trace',
    looksFor:
      'The GPU mostly idle for the host while its kernels last a few microseconds: each launch carries too little work.',
    why: 'The host’s cost of a step does not depend on the batch. A larger micro-batch carries more samples for the same launches.',
    fix: {
      text: 'Raise the micro-batch as far as memory allows and lower gradient accumulation by the same factor: the effective batch stays the same.',
      code: 'loader = DataLoader(..., batch_size=4 * batch_size)\naccumulation_steps //= 4        # same effective batch',
    },
    check:
      'With the same effective batch the loss curve is the same up to noise; batch norm sees other statistics. Without accumulation to lower, the learning rate must be tuned again.',
    cost: 'knob',
    risk: 'numerics',
    thresholds: [
      {
        name: 'computing, at most',
        value: BUSY,
        unit: 'of the step',
        source: 'TensorBoard plugin: utilisation below 50 %',
      },
      {
        name: 'idle for the host',
        value: IDLE,
        unit: 'of the step',
        source: 'twice the launch threshold of T15',
      },
      {
        name: 'short kernel, median',
        value: SHORT_KERNEL_NS / 1000,
        unit: 'µs',
        source: 'host cost of an eager operator: 5–20 µs',
      },
    ],
  },
  check(view) {
    const plan = view.facts.detail?.plan;
    if (!plan) return silent('launches were not recorded');
    const busy = view.time.compute / view.step;
    const idle = idleForLaunches(view);
    if (busy > BUSY || idle < IDLE) return silent(`the GPU computes ${percent(busy)} of the step`);
    const short = median(plan.works.duration);
    if (short > SHORT_KERNEL_NS) return silent(`kernels are long enough (median ${ms(short)})`);
    return {
      findings: [
        {
          id: 'small-batch',
          title: 'each launch carries too little work',
          confidence: 0.75,
          addresses: 'host',
          evidence: [
            evidence(
              view,
              `the GPU computes ${percent(busy)} of the step, median kernel ${(short / 1000).toFixed(1)} µs: up to ${(1 / Math.max(busy, 0.01)).toFixed(0)} times the samples would fit into the same time`,
              Math.round(short / 10) / 100,
              'µs/kernel',
            ),
          ],
          price: null,
          ...(trains(view)
            ? {}
            : {
                fix: {
                  text: 'Raise the batch as far as memory and latency allow: the same launches then carry more samples.',
                  code: 'loader = DataLoader(..., batch_size=4 * batch_size)',
                },
                risk: 'memory' as const,
              }),
        },
      ],
    };
  },
};
