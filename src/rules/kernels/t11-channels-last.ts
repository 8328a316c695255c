import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import {
  at,
  evidence,
  inMs,
  kernelTime,
  ms,
  percent,
  priceOf,
  silent,
  topKernel,
  worthwhile,
} from '../kit/kit.js';
import type { Level, TraceRule } from '../kit/rule.js';

const SHARE = 0.02;
/** 16-bit batch norm in NCHW takes native kernels, in NHWC cuDNN's (zoo: 0.28 of the time). */
const NORM_LEFT: Readonly<Record<Level, number>> = { low: 1, likely: 0.35, high: 0.25 };

const isTranspose = (k: KernelTotal) => /nchwToNhwc|nhwcToNchw/i.test(k.name.slice(0, 300));
const isConvolution = (k: KernelTotal) => k.class === 'conv';
const isNarrowNorm = (k: KernelTotal) =>
  k.class === 'norm' &&
  (k.precision === 'bf16' || k.precision === 'fp16') &&
  k.layout !== 'nhwc' &&
  /batch_norm|bn_|BatchNorm/i.test(k.name.slice(0, 300));

export const channelsLast: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T11',
    title: 'Convolutions run in NCHW and are transposed for the tensor cores',
    needs: 'trace',
    looksFor: 'nchwToNhwc and nhwcToNchw kernels around convolutions, 16-bit batch norms in NCHW.',
    why: 'Tensor cores convolve in NHWC. With NCHW tensors cuDNN transposes every input and output, and 16-bit batch norm falls back to slower kernels.',
    fix: {
      text: 'Keep model and input in channels_last.',
      code: 'model = model.to(memory_format=torch.channels_last)\nx = x.to(device, memory_format=torch.channels_last, non_blocking=True)',
    },
    check:
      'Shapes stay NCHW, only strides change: code that calls .view() across channels, or custom kernels, may fail loudly or need .reshape().',
    cost: 'code',
    risk: 'none',
    thresholds: [
      { name: 'transposes', value: SHARE, unit: 'of the step', source: 'below it the gain is within noise' },
    ],
  },
  check(view) {
    const convolutions = kernelTime(view, isConvolution);
    if (convolutions === 0) return silent('no convolutions');
    const transposes = kernelTime(view, isTranspose);
    if (transposes < SHARE * view.step)
      return silent(`transposes are ${percent(transposes / view.step)} of the step`);
    const norms = kernelTime(view, isNarrowNorm);
    const price = priceOf(view, (plan, level) => {
      for (let w = 0; w < plan.works.length; w++) {
        const kernel = view.facts.kernels[plan.works.kernel[w]!]!;
        if (isTranspose(kernel)) plan.works.duration[w] = -1;
        else if (isNarrowNorm(kernel)) plan.works.duration[w]! *= NORM_LEFT[level];
      }
    });
    if (price && !worthwhile(price))
      return silent('the step would not get shorter: something else holds it up');
    const top = topKernel(view, isTranspose)!;
    const more = norms > 0.05 * view.step ? `; 16-bit batch norms in NCHW take ${ms(norms)}` : '';
    return {
      findings: [
        {
          id: 'nchw-convolutions',
          title: 'convolutions transpose NCHW tensors back and forth',
          confidence: 0.93,
          addresses: 'gpu',
          evidence: [
            at(
              evidence(
                view,
                `nchwToNhwc/nhwcToNchw: ${ms(transposes)} a step (${percent(transposes / view.step)}), convolutions themselves ${ms(convolutions)}${more}`,
                inMs(transposes),
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
