import { inOneLine, use } from '../../remedies/remedies.js';
import type { Check, Fault } from '../kit/finding.js';
import { type Assignment, type FunctionBlock, functionAround } from '../python/script.js';
import type { Training } from '../training/training.js';

const PRODUCT = /@|\b(?:matmul|bmm|baddbmm|einsum)\(/;
const TRANSPOSED = /\.(?:transpose|permute|swapaxes|t)\(|\.m?T\b|_t\b|einsum\(/;
/** A matrix times itself is no attention. */
const SQUARED = /\b(\w+)\s*(?:@|,)\s*\1\b/;
const SOFTMAX = /\bsoftmax\(/;
/** `softmax(scores, dim=-1) @ v`, `matmul(softmax(scores), v)`. */
const WEIGHTED = /softmax\([^\n]*\)\s*@|\b(?:matmul|bmm)\(\s*(?:\w+\.)*softmax\(/;

/** Attention that does not use the fused kernel. */
export const checkAttention: Check = (training) => [
  ...training.script.functions.flatMap((f) => writtenOut(f, training)),
  ...eagerModels(training),
  ...mathBackend(training),
];

/** softmax(q @ k.transpose(…)) @ v in one function, step by step or at once. */
function writtenOut(block: FunctionBlock, training: Training): Fault[] {
  const { text, script } = training;
  const body = text(block.span);
  if (
    !SOFTMAX.test(body) ||
    /scaled_dot_product_attention|flash_attn|flex_attention|xformers/.test(classText(block, training))
  )
    return [];
  const own = script.assignments.filter((a) => functionAround(a.block) === block);
  let scores: Assignment | null = null;
  let names = new Set<string>();
  let probabilities: string | null = null;
  for (const assignment of own) {
    const value = text(assignment.value);
    const target = assignment.targets[0];
    if (!target) continue;
    if (isScores(value) && !mentionsAny(value, names)) {
      scores = assignment;
      names = new Set([target]);
    } else if (!scores || !mentionsAny(value, names)) continue;
    else if (WEIGHTED.test(value) || (probabilities && isProduct(value, probabilities)))
      return [fault(scores)];
    if (scores && SOFTMAX.test(value)) {
      if (returnsIt(target, body)) return [];
      probabilities = target;
    }
    names.add(target);
  }
  if (!scores) return [];
  const returned = body.match(/\breturn\b[^\n]*/g) ?? [];
  const isReturned =
    (probabilities && returnsProduct(probabilities, body)) ||
    returned.some((line) => WEIGHTED.test(line) && mentionsAny(line, names));
  return isReturned ? [fault(scores)] : [];
}

/** `return att @ v` */
const returnsProduct = (name: string, body: string): boolean =>
  new RegExp(`return[^\\n]*(?:\\b${quoted(name)}\\b\\s*@|(?:matmul|bmm)\\(\\s*${quoted(name)}\\b)`).test(
    body,
  );

const isScores = (value: string): boolean =>
  PRODUCT.test(value) && TRANSPOSED.test(value) && !SQUARED.test(value);

function fault(scores: Assignment): Fault {
  return {
    id: 'unfused-attention',
    at: scores.span,
    message:
      'Attention written out by hand: the matrix of all pairs of tokens goes through memory several times.',
    fix: inOneLine(use('fused-attention')),
  };
}

/** With the fused kernel as an alternative in the class, the other way is there on purpose. */
const classText = (block: FunctionBlock, { text }: Training): string =>
  text(block.parent?.kind === 'class' ? block.parent.span : block.span);

const mentionsAny = (text: string, names: ReadonlySet<string>): boolean =>
  [...names].some((name) => new RegExp(`\\b${quoted(name)}\\b`).test(text));

const isProduct = (text: string, name: string): boolean =>
  new RegExp(
    `\\b${quoted(name)}\\b\\)?\\s*@|(?:matmul|bmm)\\(\\s*(?:\\w+\\()?${quoted(name)}\\b|einsum\\([^)]*\\b${quoted(name)}\\b`,
  ).test(text);

/** The weights themselves are wanted: the fused kernel does not give them. */
const returnsIt = (name: string, body: string): boolean =>
  new RegExp(
    `return\\s+${quoted(name)}\\s*(?:,|$)|return\\b[^\\n]*,\\s*${quoted(name)}\\s*\\)?\\s*$`,
    'm',
  ).test(body);

const quoted = (name: string): string => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function eagerModels({ script, values }: Training): Fault[] {
  return script.calls
    .filter((call) => values.of(call.keywords.get('attn_implementation')) === 'eager')
    .map((call) => ({
      id: 'unfused-attention',
      at: call.keywords.get('attn_implementation')!,
      message:
        'attn_implementation="eager": the matrix of all pairs of tokens goes through memory several times.',
      fix: inOneLine(use('fused-attention'), 'transformers'),
    }));
}

function mathBackend({ calls, text, regions }: Training): Fault[] {
  return calls(/(?:^|\.)sdpa_kernel$/)
    .filter((call) => regions.isUnconditional(call.node, call.block))
    .filter(({ positional, keywords }) => {
      const backends = positional[0] ?? keywords.get('backends');
      return backends !== undefined && /^\[?\s*(?:\w+\.)*SDPBackend\.MATH\s*\]?$/.test(text(backends));
    })
    .map((call) => ({
      id: 'unfused-attention',
      at: call.node,
      message: 'Attention is limited to the math backend: no fused kernel can be used.',
      fix: inOneLine(use('fused-attention')),
    }));
}
