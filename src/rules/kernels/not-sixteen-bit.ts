import { formatMs, ns, share } from '../../base/units.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { outsideUnfusedAttention } from '../kit/attention.js';
import { addCasts } from '../kit/autocast.js';
import { atKernel, percentOfStep, shortened, silentBelow, timeEvidence } from '../kit/evidence.js';
import { capabilitiesOf, is32Bit, isNarrow, speedUpMatrixWork } from '../kit/matrix-rates.js';
import { priceOf } from '../kit/price.js';
import { found, type Levels, silent, type TraceRule, threshold, WITHIN_NOISE } from '../kit/rule.js';
import { editWork, isMatrixWork, topKernel, workTime } from '../kit/work.js';

const WIDE = threshold('fp32 and TF32 matrix work', share(0.1), 'of the step', WITHIN_NOISE);
/** With more 16-bit matrix work than this, against 32-bit, the model is already in 16 bit. */
const MOSTLY_NARROW = 2;
/** Fused attention in fp32 against 16 bit: different kernels altogether (zoo: 8.3–8.6). */
const ATTENTION: Levels = { low: 4, likely: 8, high: 10 };

const isWideProduct = (k: KernelTotal) => isMatrixWork(k) && is32Bit(k);
const isWideAttention = (k: KernelTotal) => k.class === 'attention' && is32Bit(k);

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'not-sixteen-bit',
    alias: 'T13',
    title: 'Matrix work runs in fp32 or TF32',
    needs: 'trace',
    looksFor: 'GEMM, convolution and attention time in fp32 or TF32 on a device with bf16 tensor cores.',
    why: '16-bit tensor cores are at least twice as fast as TF32 and move half the bytes. bf16 has the range of fp32 and needs no loss scaling. Autocast adds casts, around norms most of all; the price includes them.',
    fix: {
      text: 'Autocast the forward pass to bf16; no GradScaler. On cards without bf16: fp16 with a GradScaler.',
      code: 'with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = model(x, y)\nloss.backward()',
    },
    check:
      'Compare the loss curve over a few hundred steps with the fp32 run at the same seed. Keep norms, softmax and losses in fp32 (autocast does).',
    more: 'transformers: TrainingArguments(bf16=True). Lightning: Trainer(precision="bf16-mixed").',
    cost: 'code',
    risk: 'numerics',
    thresholds: [WIDE],
  },
  check(view) {
    const { device } = view.facts;
    const has = capabilitiesOf(view);
    const to = has?.hasBf16 ? 'bf16' : has?.hasTensorCores ? 'fp16' : null;
    if (to === null && has?.hasTensorCores === false)
      return silent(`${device!.name} has no 16-bit tensor cores`);
    const counts = outsideUnfusedAttention(view, isWideProduct);
    const products = workTime(view, counts).ns;
    const wide = ns(products + workTime(view, isWideAttention).ns);
    const small = silentBelow(view, wide, WIDE, 'fp32 and TF32 matrix work is');
    if (small) return small;
    const narrow = workTime(view, (k) => isMatrixWork(k) && isNarrow(k)).ns;
    if (narrow > MOSTLY_NARROW * wide) return silent('most matrix work is already in 16 bit');
    const top = topKernel(view, (k) => isWideProduct(k) || isWideAttention(k))!;
    const text = `fp32/TF32 matrix work: ${formatMs(wide)} per step (${percentOfStep(view, wide)}), in 16 bit: ${formatMs(narrow)}; longest: ${shortened(top.name)}`;
    return found({
      id: 'not-sixteen-bit',
      title: `matrix work runs in ${products > 0 && top.precision === 'tf32' ? 'TF32' : 'fp32'}, not in ${to ?? '16 bit'}`,
      confidence: to ? 0.93 : 0.5,
      addresses: 'gpu',
      evidence: [atKernel(top, timeEvidence(view, wide, text))],
      price:
        to !== null && view.rates?.tflops[to] !== undefined
          ? priceOf(view, (plan, level) => {
              speedUpMatrixWork(view, plan, level, to, counts);
              editWork(view, plan, isWideAttention, (piece) => piece.ns / ATTENTION[level]);
              addCasts(view, plan, level, counts);
            })
          : null,
      ...(to === 'fp16' ? { fix: fp16Fix(device!.name) } : {}),
    });
  },
};

const fp16Fix = (device: string) => ({
  text: `${device} has no bf16: autocast to fp16 with a GradScaler.`,
  code: 'scaler = torch.amp.GradScaler("cuda")\nwith torch.autocast("cuda", dtype=torch.float16):\n    loss = model(x, y)\nscaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()',
});
