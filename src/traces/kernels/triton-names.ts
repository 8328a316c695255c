import { firstMatch, type NameRule, type WorkClass } from './kernel-kind.js';

/**
 * Inductor names a kernel by its template and the operators fused into it:
 * `triton_<poi|red|per|tem|for|...>_fused_<operators in alphabetical order>_<number>`.
 * A pointwise kernel with `convolution` or `addmm` in its name comes *after* that operator (bias, relu), so only templates
 * (`tem`, `mm`) are matrix work.
 */
const KIND = /^triton_([a-z]+?)_(?:fused_?)?/;

const TEMPLATE: readonly NameRule<WorkClass>[] = [
  [/attention|sdpa|flex_decoding/, 'attention'],
  [/convolution|conv\dd/, 'conv'],
  [/./, 'gemm'],
];

/** In order of cost. Kernels without any of these are classed by their template. */
const OPERATORS: readonly NameRule<WorkClass>[] = [
  [/_adam|_fused_sgd|foreach/, 'optimizer'],
  [/nll_loss|cross_entropy|_loss(?:_|$)/, 'loss'],
  [/(?:layer|batch|group|instance|rms)_?norm|_norm_(?:legit|backward)/, 'norm'],
  [/softmax|logsumexp/, 'softmax'],
  [/pool/, 'pool'],
  [/embedding|index|gather|scatter/, 'index'],
  [/sort|topk|cumsum|cumprod/, 'sort'],
];

/** Kernels with only such operators move or convert data. */
const VIEWS = '(?:_unsafe_view|view|reshape|permute|transpose|t|expand|slice|select|squeeze|unsqueeze|split)';
const MOVES = `(?:_to_copy|clone|copy_?|cat|stack|constant_pad_nd|convert_element_type|${VIEWS})`;
const ALL_CASTS = new RegExp(`^(?:(?:_to_copy|convert_element_type|${VIEWS})(?:_|$)){1,40}\\d*$`);
const ALL_MOVES = new RegExp(`^(?:${MOVES}(?:_|$)){1,40}\\d*$`);
const ALL_FILLS =
  /^(?:(?:zeros|zeros_like|ones|ones_like|full|full_like|fill|zero|arange|iota)_?){1,20}_?\d*$/;
const ALL_RANDOM =
  /^(?:(?:inductor_seeds|inductor_random|inductor_randint|rand|randn|bernoulli)_?){1,20}_?\d*$/;

export function isInductorName(name: string): boolean {
  return name.startsWith('triton_');
}

export function classifyInductor(name: string): WorkClass {
  const found = KIND.exec(name);
  const kind = found?.[1] ?? '';
  const operators = name.slice(found?.[0].length ?? 0);
  if (kind === 'tem' || kind === 'mm' || kind === 'bmm') return firstMatch(TEMPLATE, name)!;
  // Inductor makes foreach kernels from optimizers.
  if (kind === 'for') return 'optimizer';
  const byOperator = firstMatch(OPERATORS, operators);
  if (byOperator !== undefined) return byOperator;
  if (kind === 'red' || kind === 'per' || kind === 'mix') return 'reduction';
  if (ALL_CASTS.test(operators)) return operators.includes('_to_copy') ? 'cast' : 'layout';
  if (ALL_MOVES.test(operators)) return 'layout';
  if (ALL_FILLS.test(operators)) return 'fill';
  if (ALL_RANDOM.test(operators)) return 'random';
  // torch 2.0 wrote `triton__0d1d2d`, which names no operator. Most were pointwise.
  return 'elementwise';
}
