import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { Plan } from '../../replay/plan.js';
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
  workTime,
  worthwhile,
} from '../kit/kit.js';
import type { Level, TraceRule } from '../kit/rule.js';

const SHARE = 0.08;
/** Part of the peak that batched products of attention reach (zoo, head size 64: 0.6 in plain fp32), and fused kernels. */
const PRODUCTS_REACH = { fp32: 0.6, tf32: 0.25 } as const;
const FUSED_REACHES: Readonly<Record<Level, number>> = { low: 0.2, likely: 0.4, high: 0.6 };
/** Against products that are 16 bit already: they write and read the whole matrix of scores, the fused kernel does not. */
const FUSED_OF_NARROW: Readonly<Record<Level, number>> = { low: 1, likely: 0.6, high: 0.35 };

const isMath = (roles: number) => (roles & Role.mathAttention) !== 0;

/** Attention by math that T14 would fuse: other rules leave its kernels to it. */
export function hasMathAttention(view: TraceView): boolean {
  const all = workTime(view, (_, roles) => isMath(roles));
  const softmax = workTime(
    view,
    (k, roles) => isMath(roles) && (k.class === 'softmax' || (roles & Role.softmax) !== 0),
  );
  const products = workTime(view, (k, roles) => isMath(roles) && isMatrixWork(k));
  return all.ns >= SHARE * view.step && softmax.ns > 0.03 * all.ns && products.ns > 0;
}

export const fusedAttention: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T14',
    title: 'Attention is computed step by step instead of in one fused kernel',
    needs: 'trace',
    looksFor:
      'A softmax between batched matrix products, forward and backward: scaled_dot_product_attention with the math backend, or attention written out.',
    why: 'The scores are a matrix of sequence length squared. Written out, it goes to memory and back for the product, scale, mask, softmax and dropout; a fused kernel never stores it.',
    fix: {
      text: 'Call scaled_dot_product_attention with 16-bit inputs and check which backend it takes: a float mask, a head size above 256 or fp32 inputs rule the fast ones out.',
      code: 'from torch.nn.attention import sdpa_kernel, SDPBackend\nwith sdpa_kernel([SDPBackend.FLASH_ATTENTION,\n                  SDPBackend.CUDNN_ATTENTION]):  # fails if neither can run\n    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)',
    },
    check: 'Compare outputs on one batch (rtol 1e-2 in 16 bit): masks and dropout must mean the same.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [
      {
        name: 'unfused attention',
        value: SHARE,
        unit: 'of the step',
        source: 'below it the gain is within noise',
      },
    ],
  },
  check(view) {
    if (!hasMathAttention(view)) {
      const fused = workTime(view, (k) => k.class === 'attention').ns;
      return silent(fused > 0 ? 'attention runs in fused kernels' : 'no attention by math was seen');
    }
    const all = workTime(view, (_, roles) => isMath(roles));
    const products = workTime(view, (k, roles) => isMath(roles) && isMatrixWork(k));
    const softmax = workTime(view, (k, roles) => isMath(roles) && k.class === 'softmax');
    const price = view.rates?.tflops.bf16 ? priceOf(view, (plan, level) => fuse(view, plan, level)) : null;
    if (price && !worthwhile(price))
      return silent('the step would not get shorter: something else holds it up');
    const plan = view.facts.detail!.plan!;
    const example = plan.works.roles.findIndex(
      (_, w) => isMath(plan.works.roles[w]!) && (plan.works.roles[w]! & Role.softmax) !== 0,
    );
    const seen = evidence(
      view,
      `attention written out: ${ms(all.ns)} a step (${percent(all.ns / view.step)}): products ${ms(products.ns)}, softmax ${ms(softmax.ns)}, the rest masks, scales and copies, in ${all.count.toFixed(0)} kernels`,
      inMs(all.ns),
      'ms/step',
    );
    const kernel = example < 0 ? undefined : view.facts.kernels[plan.works.kernel[example]!];
    return {
      findings: [
        {
          id: 'unfused-attention',
          title: 'attention is not fused: scores go through memory',
          confidence: 0.93,
          addresses: 'gpu',
          evidence: [kernel ? at(seen, kernel.longestTs, kernel.longest) : seen],
          price,
        },
      ],
    };
  },
};

/** All of it goes; the products' share of a fused kernel's time comes back in their place. */
function fuse(view: TraceView, plan: Plan, level: Level): void {
  const { works } = plan;
  const wide = workTime(view, (k, roles) => !isMath(roles) && isMatrixWork(k) && is32(k)).ns;
  const narrow = workTime(view, (k, roles) => !isMath(roles) && isMatrixWork(k) && !is32(k)).ns;
  // The rest of the model says in which type the fused kernel would run.
  const { tflops } = view.rates!;
  const fusedRate = narrow >= wide ? tflops.bf16! * FUSED_REACHES[level] : (tflops.fp32 ?? 0) * 0.75;
  for (let w = 0; w < works.length; w++) {
    if (!isMath(works.roles[w]!) || works.duration[w]! < 0) continue;
    const kernel = view.facts.kernels[works.kernel[w]!]!;
    if (!isMatrixWork(kernel)) works.duration[w] = -1;
    else if (!is32(kernel) || !(fusedRate > 0)) works.duration[w]! *= FUSED_OF_NARROW[level];
    else {
      const type = kernel.precision === 'tf32' ? 'tf32' : 'fp32';
      works.duration[w]! *= Math.min(1, ((tflops[type] ?? 0) * PRODUCTS_REACH[type]) / fusedRate);
    }
  }
}

const is32 = (k: KernelTotal) => k.precision === 'fp32' || k.precision === 'tf32';
