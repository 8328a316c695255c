import { largest } from '../../base/statistics.js';
import type { WorkClass } from '../kernels/kernel-kind.js';
import { type OperatorCall, product, type Tensor } from './operator-call.js';

/** What one call of an operator computes and moves. */
export interface OperatorWork {
  /** Additions and multiplications of matrix products, convolutions and attention. 0: other work. */
  readonly flops: number;
  /** Least traffic with the device's memory: each input is read once, each output written once. */
  readonly bytes: number;
  /** Type of the elements, as PyTorch writes it. Empty: not recorded. */
  readonly type: string;
}

type Formula = (call: OperatorCall) => OperatorWork | null;

/** `[…, m, k]` by `[…, k, n]`, arguments at these positions. */
const productOf =
  (left: number, right: number): Formula =>
  (call) => {
    const [a, b] = [call.tensor(left), call.tensor(right)];
    if (!a || !b || a.dims.length < 2 || b.dims.length !== a.dims.length) return null;
    const [inner, columns] = [a.dims.at(-1)!, b.dims.at(-1)!];
    if (b.dims.at(-2) !== inner || inner === 0) return null;
    const outputs = (a.elements / inner) * columns;
    return { flops: 2 * outputs * inner, bytes: moved(a, b) + outputs * a.size, type: a.type };
  };

/** `[…, k]` by the weights `[n, k]` of a layer, or `[m, k]` by a vector `[k]`. */
const linear: Formula = (call) => {
  const [x, w] = [call.tensor(0), call.tensor(1)];
  const inner = w?.dims.at(-1);
  if (!x || !w || !inner || w.dims.length > 2 || x.dims.at(-1) !== inner) return null;
  const outputs = (x.elements / inner) * (w.elements / inner);
  return { flops: 2 * outputs * inner, bytes: moved(x, w) + outputs * x.size, type: x.type };
};

const moved = (...tensors: readonly Tensor[]) => tensors.reduce((sum, t) => sum + t.elements * t.size, 0);

/** Each output of a convolution (of a transposed one, each input) meets its part of the weights. */
const meetings = (input: number, output: number, weight: Tensor, transposed: boolean) =>
  2 * (transposed ? input : output) * product(weight.dims.slice(1));

/** Input, weight, bias, stride, padding, dilation, transposed, output padding, groups. */
const convolution: Formula = (call) => {
  const [x, w] = [call.tensor(0), call.tensor(1)];
  const [stride, padding, dilation] = [call.numbers(3), call.numbers(4), call.numbers(5)];
  const [transposed, added, groups] = [call.flag(6), call.numbers(7), call.number(8)];
  if (!x || !w || !stride || !padding || !dilation || transposed === null || groups === null) return null;
  const at = (list: readonly number[], axis: number) => list[axis] ?? list[0] ?? 0;
  const sizes = x.dims.slice(2).map((size, axis) => {
    const [by, around] = [Math.max(1, at(stride, axis)), 2 * at(padding, axis)];
    const reach = at(dilation, axis) * ((w.dims[axis + 2] ?? 1) - 1) + 1;
    if (transposed) return (size - 1) * by - around + reach + at(added ?? [], axis);
    return Math.floor((size + around - reach) / by) + 1;
  });
  const channels = transposed ? (w.dims[1] ?? 0) * groups : w.dims[0]!;
  const outputs = (x.dims[0] ?? 0) * channels * product(sizes);
  if (!(outputs > 0)) return null;
  const flops = meetings(x.elements, outputs, w, transposed);
  return { flops, bytes: moved(x, w) + outputs * x.size, type: x.type };
};

/** Gradient, input, weight, bias sizes, stride, padding, dilation, transposed, output padding, groups, which gradients. */
const convolutionBackward: Formula = (call) => {
  const [gradient, x, w] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  const [transposed, wanted] = [call.flag(7), call.flags(10)];
  if (!gradient || !x || !w || transposed === null || wanted.length < 2) return null;
  const [ofInput, ofWeight] = [Number(wanted[0]), Number(wanted[1])];
  const flops = (ofInput + ofWeight) * meetings(x.elements, gradient.elements, w, transposed);
  const bytes = moved(gradient) + ofInput * (moved(w) + moved(x)) + ofWeight * (moved(x) + moved(w));
  return { flops, bytes, type: gradient.type };
};

/**
 * Attention from the query on, which is argument `first`. `causal`: position of the flag. `tokens`: axis of the tokens.
 * Backward computes the scores again and two gradients for each of the two products: 2.5 times the forward pass.
 */
const attention =
  (first: number, causal: number, tokens: number, backward = false): Formula =>
  (call) => {
    const [q, k, v] = [call.tensor(first), call.tensor(first + 1), call.tensor(first + 2)];
    if (q?.dims.length !== 4 || k?.dims.length !== 4 || v?.dims.length !== 4) return null;
    const [width, keys] = [q.dims[3]!, k.dims[tokens]!];
    if (width === 0) return null;
    const scores = (q.elements / width) * keys;
    const half = call.flag(causal) === true && q.dims[tokens] === keys ? 0.5 : 1;
    const forward = 2 * half * scores * (width + v.dims[3]!);
    return backward
      ? { flops: 2.5 * forward, bytes: 2 * moved(q, k, v) + 2 * moved(q), type: q.type }
      : { flops: forward, bytes: moved(q, k, v) + moved(q), type: q.type };
  };

const FORMULAS: Readonly<Record<string, Formula>> = {
  'aten::mm': productOf(0, 1),
  'aten::bmm': productOf(0, 1),
  'aten::_scaled_mm': productOf(0, 1),
  'aten::_int_mm': productOf(0, 1),
  'aten::addmm': productOf(1, 2),
  'aten::_addmm_activation': productOf(1, 2),
  'aten::baddbmm': productOf(1, 2),
  'aten::mv': linear,
  'aten::linear': linear,
  'aten::convolution': convolution,
  'aten::convolution_overrideable': convolution,
  'aten::convolution_backward': convolutionBackward,
  'aten::_scaled_dot_product_flash_attention': attention(0, 4, 2),
  'aten::_scaled_dot_product_efficient_attention': attention(0, 6, 2),
  'aten::_scaled_dot_product_cudnn_attention': attention(0, 6, 2),
  'aten::_scaled_dot_product_flash_attention_backward': attention(1, 11, 2, true),
  'aten::_scaled_dot_product_efficient_attention_backward': attention(1, 11, 2, true),
  'aten::_scaled_dot_product_cudnn_attention_backward': attention(1, 14, 2, true),
  'flash_attn::_flash_attn_forward': attention(0, 5, 1),
  'flash_attn::_flash_attn_backward': attention(1, 11, 1, true),
};

/** Work that memory paces: it passes over its tensors once. */
// biome-ignore format: a list
const STREAMED: ReadonlySet<WorkClass> = new Set<WorkClass>([
  'elementwise', 'reduction', 'norm', 'softmax', 'layout', 'cast', 'fill', 'optimizer', 'random', 'pool', 'copy',
]);

const IN_PLACE = /_$/;
/** It writes its first argument and does not read it. */
const WRITES_ONLY = /^aten::(?:copy|fill|zero|normal|uniform|bernoulli|random)_$/;

/** An operator of PyTorch that passes over its inputs, or a kernel of Inductor, whose arguments include what it writes. */
function streamed(
  name: string,
  call: OperatorCall,
  kind: WorkClass,
  elementSize: number,
): OperatorWork | null {
  if (name.startsWith('triton_')) return passing(call, 0);
  if (!name.startsWith('aten::') || !STREAMED.has(kind)) return null;
  const [first] = call.tensors;
  const lists = call.lists;
  if (lists.length > 0) return ofLists(name, lists, elementSize);
  if (!first) return null;
  if (WRITES_ONLY.test(name) || kind === 'reduction') return passing(call, 0);
  if (IN_PLACE.test(name)) return passing(call, moved(first));
  return passing(call, largest(call.tensors.map((t) => t.elements)) * first.size);
}

/** All tensors once, and what else is written. */
function passing(call: OperatorCall, written: number): OperatorWork | null {
  const { tensors } = call;
  const bytes = moved(...tensors) + written;
  return bytes > 0 ? { flops: 0, bytes, type: tensors[0]?.type ?? '' } : null;
}

/** Fused optimizers read parameters, gradients and states, and write all but the gradients. Others write their first list. */
function ofLists(name: string, lists: readonly number[], elementSize: number): OperatorWork | null {
  const read = lists.reduce((sum, n) => sum + n, 0);
  const isUpdate = name.startsWith('aten::_fused_');
  const written = isUpdate ? read - (lists[1] ?? 0) : name === 'aten::cat' ? read : (lists[0] ?? 0);
  return elementSize > 0 && read > 0 ? { flops: 0, bytes: (read + written) * elementSize, type: '' } : null;
}

/**
 * What a call does, from its shapes. `kind`: of the kernel it launched that takes longest, and `elementSize` what its name says
 * of its elements, for lists of tensors. Null: unknown.
 */
export function operatorWork(
  name: string,
  call: OperatorCall,
  kind: WorkClass,
  elementSize: number,
): OperatorWork | null {
  const formula = Object.hasOwn(FORMULAS, name) ? FORMULAS[name]! : null;
  const work = formula ? formula(call) : streamed(name, call, kind, elementSize);
  return work && Number.isFinite(work.flops) && Number.isFinite(work.bytes) ? work : null;
}

/** Whether work of such a kernel may belong to this operator; if not, to its caller. */
export const hasFormula = (name: string): boolean => Object.hasOwn(FORMULAS, name);
