import { formatMs, share } from '../../base/units.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { atKernel, percentOfStep, silentBelow, timeEvidence } from '../kit/evidence.js';
import { priceOf } from '../kit/price.js';
import { found, type Levels, silent, type TraceRule, threshold, WITHIN_NOISE } from '../kit/rule.js';
import { editWork, kernelTime, REMOVED, topKernel } from '../kit/work.js';

const TRANSPOSES = threshold('transposes', share(0.02), 'of the step', WITHIN_NOISE);
/** Batch norms are named beside the transposes from this share of the step on. */
const NORMS = 0.05;
/** 16-bit batch norm in NCHW takes native kernels, in NHWC cuDNN's (zoo: 0.28 of the time). */
const NORM_LEFT: Levels = { low: 1, likely: 0.35, high: 0.25 };

const isTranspose = (k: KernelTotal) => /nchwToNhwc|nhwcToNchw/i.test(k.name.slice(0, 300));
const is16BitNorm = (k: KernelTotal) =>
  k.class === 'norm' &&
  (k.precision === 'bf16' || k.precision === 'fp16') &&
  k.layout !== 'nhwc' &&
  /batch_norm|bn_|BatchNorm/i.test(k.name.slice(0, 300));

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'nchw-convolutions',
    alias: 'T11',
    title: 'Convolutions run in NCHW and are transposed for the tensor cores',
    needs: 'trace',
    looksFor: 'nchwToNhwc and nhwcToNchw kernels around convolutions, 16-bit batch norms in NCHW.',
    why: 'Tensor cores convolve in NHWC. With NCHW tensors cuDNN transposes every input and output, and 16-bit batch norm falls back to slower kernels.',
    fix: {
      text: 'Keep model and input in channels_last.',
      code: 'model = model.to(memory_format=torch.channels_last)\nx = x.to(device, memory_format=torch.channels_last, non_blocking=True)',
    },
    check:
      'Shapes stay NCHW, only strides change. Code that calls .view() across channels, or custom kernels, may fail loudly or need .reshape().',
    cost: 'code',
    risk: 'none',
    thresholds: [TRANSPOSES],
  },
  check(view) {
    const convolutions = kernelTime(view, (k) => k.class === 'conv');
    if (convolutions === 0) return silent('no convolutions');
    const transposes = kernelTime(view, isTranspose);
    const small = silentBelow(view, transposes, TRANSPOSES, 'transposes are');
    if (small) return small;
    const norms = kernelTime(view, is16BitNorm);
    const more = norms > NORMS * view.step ? `; 16-bit batch norms in NCHW take ${formatMs(norms)}` : '';
    const text = `nchwToNhwc/nhwcToNchw: ${formatMs(transposes)} a step (${percentOfStep(view, transposes)}), convolutions themselves ${formatMs(convolutions)}${more}`;
    return found({
      id: 'nchw-convolutions',
      title: 'convolutions transpose NCHW tensors back and forth',
      confidence: 0.93,
      addresses: 'gpu',
      evidence: [atKernel(topKernel(view, isTranspose), timeEvidence(view, transposes, text))],
      price: priceOf(view, (plan, level) => {
        editWork(view, plan, isTranspose, () => REMOVED);
        editWork(view, plan, is16BitNorm, ({ ns }) => ns * NORM_LEFT[level]);
      }),
    });
  },
};
