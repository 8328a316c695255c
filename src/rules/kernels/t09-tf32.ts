import { capabilities } from '../../facts/capabilities.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { Role } from '../../traces/detail/roles.js';
import {
  at,
  evidence,
  inMs,
  isMatrixWork,
  ms,
  percent,
  priceOf,
  silent,
  topKernel,
  workTime,
  worthwhile,
} from '../kit/kit.js';
import type { TraceRule } from '../kit/rule.js';
import { speedUpMatrixWork } from './reached-rates.js';
import { hasMathAttention } from './t14-fused-attention.js';

const SHARE = 0.05;

const isPlainFp32 = (k: KernelTotal) => isMatrixWork(k) && k.precision === 'fp32' && k.tensorCore === false;

export const tf32: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T9',
    title: 'fp32 matrix products do not use the tensor cores (TF32 is off)',
    needs: 'trace',
    looksFor:
      'fp32 GEMM or convolution kernels without tensor cores (sgemm, simt) on a device that has TF32.',
    why: 'From Ampere on, TF32 runs fp32 matrix products on tensor cores with a 10-bit mantissa, several times faster. PyTorch leaves it off for matmul.',
    fix: {
      text: 'Allow TF32 for matrix products, once, at start-up.',
      code: 'torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True',
    },
    check:
      'Compare the loss curve of a few hundred steps; keep fp32 where you solve, factorise or compare in full precision.',
    cost: 'free',
    risk: 'numerics',
    thresholds: [
      {
        name: 'fp32 products',
        value: SHARE,
        unit: 'of the step',
        source: 'below it the gain is within noise',
      },
    ],
  },
  check(view) {
    const { device } = view.facts;
    const can = device ? capabilities(device.name, device.computeMajor, device.computeMinor).hasTf32 : null;
    if (can === false) return silent(`${device!.name} has no TF32`);
    // Products inside attention written out are T14's: its fix removes them.
    const attention = hasMathAttention(view);
    const counts = (k: KernelTotal, roles: number) =>
      isPlainFp32(k) && !(attention && (roles & Role.mathAttention) !== 0);
    const plain = workTime(view, counts);
    if (plain.ns < SHARE * view.step) {
      const on = workTime(view, (k) => isMatrixWork(k) && k.precision === 'tf32').ns > 0;
      return silent(
        on ? 'TF32 is on already' : `plain fp32 products are ${percent(plain.ns / view.step)} of the step`,
      );
    }
    const rated = can === true && view.rates?.tflops.tf32 !== undefined;
    const price = rated
      ? priceOf(view, (plan, level) => speedUpMatrixWork(view, plan, level, 'tf32', counts))
      : null;
    if (price && !worthwhile(price))
      return silent('the step would not get shorter: something else holds it up');
    const top = topKernel(view, isPlainFp32)!;
    return {
      findings: [
        {
          id: 'tf32-off',
          title: 'fp32 matrix products run without tensor cores',
          confidence: can === true ? 0.95 : 0.6,
          addresses: 'gpu',
          evidence: [
            at(
              evidence(
                view,
                `${plain.count.toFixed(0)} fp32 products take ${ms(plain.ns)} a step (${percent(plain.ns / view.step)}), none on tensor cores: ${top.name.slice(0, 60)}`,
                inMs(plain.ns),
                'ms/step',
              ),
              top.longestTs,
              top.longest,
            ),
          ],
          price,
        },
      ],
    };
  },
};
