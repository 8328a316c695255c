import { formatMs, ns, share } from '../../base/units.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { about } from '../../remedies/remedies.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { atKernel, percentOfStep, shortened, silentBelow, timeEvidence } from '../kit/evidence.js';
import { SHORTEST_NS } from '../kit/matrix-rates.js';
import { priceOf } from '../kit/price.js';
import { found, type Levels, type TraceRule, threshold, WITHIN_NOISE } from '../kit/rule.js';
import { editWork, topKernel, workTime } from '../kit/work.js';

const UNALIGNED = threshold('unaligned products', share(0.1), 'of the step', WITHIN_NOISE);

/** Vector loads of a GPU are this wide. Rows that do not start at a multiple of it need narrower ones. */
const VECTOR_BYTES = 16;
/** Below this, data cannot be copied to shared memory in the background (cp.async), and the kernels are Turing's. */
const LEAST_ASYNC_BYTES = 4;
const ELEMENT_BYTES: Readonly<Record<string, number>> = { tf32: 4, bf16: 2, fp16: 2, fp8: 1, int8: 1 };

/** `_align1` of CUTLASS and `aligna2` of xmma count elements; so does `ldg8` of cuBLAS's older kernels. */
const ALIGNMENT = /(?:_align[abc]?|_ldg)([1248]|16)(?!\d)/;

/**
 * Bytes that a product of the tensor cores loads at once, as far as its name tells. Not of convolutions: a picture has three
 * channels, and padding them is cuDNN's business.
 */
function loadedAtOnce(k: KernelTotal): number | null {
  const bytes = ELEMENT_BYTES[k.precision];
  if (k.class !== 'gemm' || k.tensorCore !== true || bytes === undefined) return null;
  const elements = ALIGNMENT.exec(k.name.slice(0, 400))?.[1];
  return elements === undefined ? null : Number(elements) * bytes;
}

const isUnaligned = (k: KernelTotal) => (loadedAtOnce(k) ?? VECTOR_BYTES) < VECTOR_BYTES;
const isWorst = (k: KernelTotal) => (loadedAtOnce(k) ?? VECTOR_BYTES) < LEAST_ASYNC_BYTES;

/**
 * How many times faster aligned products are than those of single 16-bit loads. Zoo `vocabulary_50257` and `_50304` on an
 * H200, the only pair: 6.2 (125 against 775 TFLOP/s). Only data-center cards from Hopper on have the instructions that the
 * slow kernels miss. For others nothing was measured: the same kernels at the rate of fewer multiprocessors and a lower clock
 * would reach 82 TFLOP/s of an A100's 312, a third of what aligned ones do. Less is promised, in a wide range.
 */
const HOPPER: Levels = { low: 4, likely: 6, high: 7.5 };
const OTHERS: Levels = { low: 1.5, likely: 2.5, high: 3.5 };
const ASYNC_MATRIX_UNITS: readonly unknown[] = [9, 10];

export const rule: TraceRule = {
  reads: 'traces',
  unpriced: 'allowed',
  info: {
    id: 'unaligned-products',
    alias: null,
    title: 'Matrix sizes do not fit the tensor cores',
    needs: 'trace (NVIDIA)',
    looksFor:
      'Products on tensor cores whose kernels load less than 16 bytes at once (align1, align2, align4 in 16 bit), by their names.',
    why: 'If a row is not a multiple of 16 bytes (8 values of 16 bit), rows start at unaligned addresses. The library then uses kernels that load values one by one, which are several times slower. A vocabulary of 50,257 is the usual case; odd numbers of classes, features or heads are others.',
    ...about('padded-sizes'),
    thresholds: [UNALIGNED],
  },
  check(view) {
    const all = workTime(view, isUnaligned);
    const small = silentBelow(view, all.ns, UNALIGNED, 'unaligned products are');
    if (small) return small;
    const worst = workTime(view, isWorst);
    const top = topKernel(view, isUnaligned)!;
    const text = `${all.count.toFixed(0)} products take ${formatMs(all.ns)} per step (${percentOfStep(view, all.ns)}) in kernels that load ${loadedAtOnce(top)} bytes at once instead of ${VECTOR_BYTES}: ${shortened(top.name)}`;
    return found({
      id: 'unaligned-products',
      title: 'matrix sizes do not fit the tensor cores',
      confidence: isWorst(top) ? 0.9 : 0.6,
      addresses: 'gpu',
      evidence: [atKernel(top, timeEvidence(view, all.ns, text))],
      price: worst.ns > 0 && view.facts.device?.computeMajor != null ? priceAligned(view) : null,
    });
  },
};

/** Only what loads single 16-bit values is known to gain. */
function priceAligned(view: TraceView) {
  const faster = ASYNC_MATRIX_UNITS.includes(view.facts.device?.computeMajor) ? HOPPER : OTHERS;
  return priceOf(view, (plan, level) =>
    editWork(view, plan, isWorst, (piece) =>
      Math.max(Math.min(piece.ns, SHORTEST_NS), ns(piece.ns / faster[level])),
    ),
  );
}
