import { firstMatch, type NameRule, type WorkClass } from './kernel-kind.js';

/**
 * Inductor names a kernel by its template and the operators fused into it:
 * `triton_<poi|red|per|tem|for|...>_fused_<operators in alphabetical order>_<number>`.
 * A pointwise kernel with `convolution` or `addmm` in its name is what comes *after* that operator (bias, relu), so only
 * templates (`tem`, `mm`) are matrix work.
 */
const KIND = /^triton_([a-z]+?)_(?:fused_?)?/;

const TEMPLATE: readonly NameRule<WorkClass>[] = [
  { test: /attention|sdpa|flex_decoding/, is: 'attention' },
  { test: /convolution|conv\dd/, is: 'conv' },
  { test: /./, is: 'gemm' },
];

/** From what decides the cost most to what decides it least; the rest is told by reduction or pointwise. */
const OPERATORS: readonly NameRule<WorkClass>[] = [
  { test: /_adam|_fused_sgd|foreach/, is: 'optimizer' },
  { test: /nll_loss|cross_entropy|_loss(?:_|$)/, is: 'loss' },
  { test: /(?:layer|batch|group|instance|rms)_?norm|_norm_(?:legit|backward)/, is: 'norm' },
  { test: /softmax|logsumexp/, is: 'softmax' },
  { test: /pool/, is: 'pool' },
  { test: /embedding|index|gather|scatter/, is: 'index' },
  { test: /sort|topk|cumsum|cumprod/, is: 'sort' },
];

/** Names whose operators all are one of these move or convert data and nothing else. */
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
  // Foreach kernels: Inductor makes them of optimizers.
  if (kind === 'for') return 'optimizer';
  const byOperator = firstMatch(OPERATORS, operators);
  if (byOperator !== undefined) return byOperator;
  if (kind === 'red' || kind === 'per' || kind === 'mix') return 'reduction';
  if (ALL_CASTS.test(operators)) return operators.includes('_to_copy') ? 'cast' : 'layout';
  if (ALL_MOVES.test(operators)) return 'layout';
  if (ALL_FILLS.test(operators)) return 'fill';
  if (ALL_RANDOM.test(operators)) return 'random';
  // `triton__0d1d2d` of torch 2.0 names nothing; most were pointwise.
  return 'elementwise';
}
