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
import type { Level, TraceRule } from '../kit/rule.js';
import { speedUpMatrixWork } from './reached-rates.js';
import { hasMathAttention } from './t14-fused-attention.js';

const SHARE = 0.1;
/** Fused attention in fp32 against 16 bit: different kernels altogether (zoo: 8.3–8.6). */
const ATTENTION: Readonly<Record<Level, number>> = { low: 4, likely: 8, high: 10 };

const isWide = (k: KernelTotal) => k.precision === 'fp32' || k.precision === 'tf32';
const isWideProduct = (k: KernelTotal) => isMatrixWork(k) && isWide(k);
const isWideAttention = (k: KernelTotal) => k.class === 'attention' && isWide(k);

export const sixteenBit: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T13',
    title: 'Matrix work runs in fp32 or TF32',
    needs: 'trace',
    looksFor: 'GEMM, convolution and attention time in fp32 or TF32 on a device with bf16 tensor cores.',
    why: '16-bit tensor cores are at least twice as fast as TF32 and move half the bytes. bf16 has the range of fp32 and needs no loss scaling.',
    fix: {
      text: 'Autocast the forward pass to bf16; no GradScaler. On cards without bf16: fp16 with a GradScaler.',
      code: 'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = model(x, y)\nloss.backward()',
    },
    check:
      'Compare the loss curve over a few hundred steps with the fp32 run at the same seed; keep norms, softmax and losses in fp32 (autocast does).',
    cost: 'code',
    risk: 'numerics',
    thresholds: [
      {
        name: 'fp32 and TF32 matrix work',
        value: SHARE,
        unit: 'of the step',
        source: 'below it the gain is within noise',
      },
    ],
  },
  check(view) {
    const { device } = view.facts;
    const has = device ? capabilities(device.name, device.computeMajor, device.computeMinor) : null;
    const to = has?.hasBf16 === true ? 'bf16' : has?.hasTensorCores === true ? 'fp16' : null;
    if (has && to === null && has.hasTensorCores === false)
      return silent(`${device!.name} has no 16-bit tensor cores`);
    const attention = hasMathAttention(view);
    const counts = (k: KernelTotal, roles: number) =>
      isWideProduct(k) && !(attention && (roles & Role.mathAttention) !== 0);
    const products = workTime(view, counts);
    const fused = workTime(view, isWideAttention);
    const wide = products.ns + fused.ns;
    if (wide < SHARE * view.step)
      return silent(`fp32 and TF32 matrix work is ${percent(wide / view.step)} of the step`);
    const narrow = workTime(view, (k) => isMatrixWork(k) && !isWide(k)).ns;
    if (narrow > 2 * wide) return silent('most matrix work is in 16 bit already');
    const rated = to !== null && view.rates?.tflops[to] !== undefined;
    const price = rated
      ? priceOf(view, (plan, level) => {
          speedUpMatrixWork(view, plan, level, to, counts);
          for (let w = 0; w < plan.works.length; w++) {
            if (isWideAttention(view.facts.kernels[plan.works.kernel[w]!]!))
              plan.works.duration[w]! /= ATTENTION[level];
          }
        })
      : null;
    if (price && !worthwhile(price))
      return silent('the step would not get shorter: something else holds it up');
    const top = topKernel(view, (k) => isWideProduct(k) || isWideAttention(k))!;
    return {
      findings: [
        {
          id: 'not-sixteen-bit',
          title: `matrix work runs in ${products.ns > 0 && top.precision === 'tf32' ? 'TF32' : 'fp32'}, not in ${to ?? '16 bit'}`,
          confidence: to ? 0.93 : 0.5,
          addresses: 'gpu',
          evidence: [
            at(
              evidence(
                view,
                `fp32/TF32 matrix work: ${ms(wide)} a step (${percent(wide / view.step)}), in 16 bit: ${ms(narrow)}; longest: ${top.name.slice(0, 50)}`,
                inMs(wide),
                'ms/step',
              ),
              top.longestTs,
              top.longest,
            ),
          ],
          price,
          ...(to === 'fp16'
            ? {
                fix: {
                  text: `${device!.name} has no bf16: autocast to fp16 with a GradScaler.`,
                  code: 'scaler = torch.amp.GradScaler("cuda")\nwith torch.autocast("cuda", dtype=torch.float16):\n    loss = model(x, y)\nscaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()',
                },
              }
            : {}),
        },
      ],
    };
  },
};
