import type { SyntaxNode } from '@lezer/common';
import { partitionPoint } from '../../base/search.js';
import { unwrapped } from '../python/nodes.js';
import { type Assignment, around, type Block, functionAround, goesThrough } from '../python/script.js';
import type { Training } from './training.js';

/** Reads of a tensor by the host: the host waits until the GPU has computed it. */
export const READS = new Set(['item', 'cpu', 'tolist', 'numpy']);
/** What a tensor keeps being a tensor on its device under. */
const KEEPS =
  /^(?:detach|clone|mean|sum|max|min|abs|sqrt|exp|log|norm|float|half|double|bfloat16|long|int|bool|squeeze|unsqueeze|view|reshape|flatten|any|all|argmax|argmin|softmax|div|mul|add|sub|pow|eq|ne|gt|lt|ge|le|data|grad|loss|logits|to|cuda|T)$/;
const COMPUTES =
  /^torch\.(?:nn\.functional\.\w+|argmax|max|min|mean|sum|norm|linalg\.\w+|stack|cat|where|isnan|isinf|isfinite|softmax|sigmoid|abs|sqrt|nn\.utils\.clip_grad_norm_)$/;
/** Called, it gives what the GPU computes. */
const MODEL = /^(?:self\.)?(?:model|net|network|criterion|loss_fn|loss_function)\w*$/;
const MAX_DEPTH = 8;

/** Which expressions are surely tensors on the device, in the order that the file is written. */
export class Tensors {
  readonly #training: Training;
  /** Names that a backward pass starts from. */
  readonly #losses: ReadonlySet<string>;

  constructor(training: Training) {
    this.#training = training;
    this.#losses = new Set(
      training.regions.trainingCalls
        .filter((call) => /backward$/.test(call.method))
        .flatMap(({ receiver, positional }) => [receiver, argumentOf(receiver), ...positional])
        .flatMap((node) => (node?.name === 'VariableName' ? [training.text(node)] : [])),
    );
  }

  /** Whether reading the expression makes the host wait for the GPU. */
  isOnDevice(node: SyntaxNode, block: Block, depth = 0): boolean {
    if (depth > MAX_DEPTH) return false;
    const expression = unwrapped(node);
    switch (expression.name) {
      case 'VariableName':
        return this.#isName(expression, block, depth);
      case 'CallExpression': {
        const name = this.#training.script.nameOf(expression.firstChild!);
        if (COMPUTES.test(name) || MODEL.test(name) || isMadeThere(expression, name, this.#training))
          return true;
        const member = expression.firstChild!;
        if (member.name !== 'MemberExpression') return false;
        return (
          KEEPS.test(name.slice(name.lastIndexOf('.') + 1)) &&
          this.isOnDevice(member.firstChild!, block, depth + 1)
        );
      }
      case 'MemberExpression': {
        const last = expression.lastChild!;
        // `outputs.loss`, `loss.data`; `loss[0]` and `(a == b)[0]` end with a bracket.
        if (last.name === 'PropertyName' && !KEEPS.test(this.#training.text(last))) return false;
        return this.isOnDevice(expression.firstChild!, block, depth + 1);
      }
      case 'BinaryExpression':
        return [expression.firstChild!, expression.lastChild!].some((side) =>
          this.isOnDevice(side, block, depth + 1),
        );
      default:
        return false;
    }
  }

  /** Whether the value was read before: reading it again costs nothing. */
  isOnHost(node: SyntaxNode, block: Block, depth = 0): boolean {
    if (depth > MAX_DEPTH) return false;
    const expression = unwrapped(node);
    if (expression.name === 'VariableName') {
      const name = this.#training.text(expression);
      const last = this.#lastAssignment(name, expression.from, block);
      return last ? this.isOnHost(last.value, last.block, depth + 1) : this.#isLoaded(name, block);
    }
    if (expression.name === 'CallExpression') {
      const name = this.#training.script.nameOf(expression.firstChild!);
      const method = name.slice(name.lastIndexOf('.') + 1);
      if (READS.has(method)) return true;
      if (method === 'to' || method === 'cuda') return false;
      if (/^(?:numpy|np|random|math|time|os|len|int|float)\b/.test(name)) return true;
    }
    const inner = expression.firstChild;
    return (expression.name === 'MemberExpression' || expression.name === 'CallExpression') && inner
      ? this.isOnHost(inner, block, depth + 1)
      : false;
  }

  /** A batch as the loader gave it: loaders work on the host. Frameworks that wrap them copy it to the device. */
  #isLoaded(name: string, block: Block): boolean {
    const { regions, framework, script, text } = this.#training;
    if (framework !== 'plain' || this.#losses.has(name)) return false;
    for (const outer of around(block)) {
      if (regions.loops.has(outer) && goesThrough(outer, name, script))
        return outer.head !== null && !/param|loss|model|cuda|device|prefetch/i.test(text(outer.head));
      if (outer.kind === 'function') return false;
    }
    return false;
  }

  #isName(node: SyntaxNode, block: Block, depth: number): boolean {
    const name = this.#training.text(node);
    const last = this.#lastAssignment(name, node.from, block);
    if (!last) return false;
    if (this.isOnHost(last.value, last.block)) return false;
    if (last.targets.length > 1) return this.#losses.has(name);
    return this.#losses.has(name) || this.isOnDevice(last.value, last.block, depth + 1);
  }

  /** The last one before this place in the same function. */
  #lastAssignment(name: string, before: number, block: Block): Assignment | null {
    const owner = functionAround(block);
    const all = this.#training.values.assignmentsTo(name);
    for (let i = partitionPoint(all.length, (k) => all[k]!.span.to <= before) - 1; i >= 0; i--)
      if (!all[i]!.isUpdate && functionAround(all[i]!.block) === owner) return all[i]!;
    return null;
  }
}

/** `loss` in `scaler.scale(loss)`. */
function argumentOf(node: SyntaxNode | null): SyntaxNode | null {
  return node?.name === 'CallExpression'
    ? (node.getChild('ArgList')?.getChild('VariableName') ?? null)
    : null;
}

/** `x.cuda()`, `x.to(device)`, `torch.zeros(1, device=device)`. */
function isMadeThere(call: SyntaxNode, name: string, { text }: Training): boolean {
  if (name.endsWith('.cuda')) return true;
  if (name.startsWith('torch.')) return /\bdevice\s*=(?!\s*["']cpu)/.test(text(call));
  const first = call.getChild('ArgList')?.firstChild?.nextSibling;
  return (
    name.endsWith('.to') && first !== null && first !== undefined && /device|cuda|gpu|rank/.test(text(first))
  );
}
