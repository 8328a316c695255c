import { formatMs, share } from '../../base/units.js';
import { about, elsewhere } from '../../remedies/remedies.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { atKernel, percentOfStep, shortened, silentBelow, timeEvidence } from '../kit/evidence.js';
import { outsideUnfusedAttention } from '../kit/fusable.js';
import { capabilitiesOf, speedUpMatrixWork } from '../kit/matrix-rates.js';
import { priceOf } from '../kit/price.js';
import { found, silent, type TraceRule, threshold, WITHIN_NOISE } from '../kit/rule.js';
import { isMatrixWork, topKernel, workTime } from '../kit/work.js';

const FP32 = threshold('fp32 products', share(0.05), 'of the step', WITHIN_NOISE);

const isPlainFp32 = (k: KernelTotal) => isMatrixWork(k) && k.precision === 'fp32' && k.tensorCore === false;

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'tf32-off',
    alias: 'T9',
    title: 'fp32 matrix products do not use the tensor cores (TF32 is off)',
    needs: 'trace',
    looksFor:
      'fp32 GEMM or convolution kernels without tensor cores (sgemm, simt) on a device that has TF32.',
    why: 'From Ampere on, TF32 runs fp32 matrix products on tensor cores with a 10-bit mantissa, several times faster. PyTorch leaves it off for matmul.',
    more: `Off for matrix products since PyTorch 1.12. ${elsewhere('tf32')}`,
    ...about('tf32'),
    thresholds: [FP32],
  },
  check(view) {
    const hasTf32 = capabilitiesOf(view)?.hasTf32 ?? null;
    if (hasTf32 === false) return silent(`${view.facts.device!.name} has no TF32`);
    // unfused-attention removes the products inside attention.
    const counts = outsideUnfusedAttention(view, isPlainFp32);
    const plain = workTime(view, counts);
    const small = silentBelow(view, plain.ns, FP32, 'plain fp32 products are');
    if (small)
      return workTime(view, (k) => isMatrixWork(k) && k.precision === 'tf32').ns > 0
        ? silent('TF32 is already on')
        : small;
    const canPrice = hasTf32 === true && view.rates?.tflops.tf32 !== undefined;
    const top = topKernel(view, isPlainFp32)!;
    const text = `${plain.count.toFixed(0)} fp32 products take ${formatMs(plain.ns)} per step (${percentOfStep(view, plain.ns)}), none on tensor cores: ${shortened(top.name)}`;
    return found({
      id: 'tf32-off',
      title: 'fp32 matrix products run without tensor cores',
      confidence: hasTf32 === true ? 0.95 : 0.6,
      addresses: 'gpu',
      evidence: [atKernel(top, timeEvidence(view, plain.ns, text))],
      price: canPrice
        ? priceOf(view, (plan, level) => speedUpMatrixWork(view, plan, level, 'tf32', counts))
        : null,
    });
  },
};
