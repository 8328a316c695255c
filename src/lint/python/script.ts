import type { SyntaxNode } from '@lezer/common';
import type { Arguments, Source, Span } from './nodes.js';

/**
 * What lint knows of a Python file: flat lists, each entry with the block it stands in. No part of it is executed, and names
 * are resolved by imports alone.
 */
export interface Script {
  readonly source: Source;
  /** Name in the file → what it was imported as: `DataLoader` → `torch.utils.data.DataLoader`. */
  readonly imports: ReadonlyMap<string, string>;
  readonly blocks: readonly Block[];
  readonly calls: readonly Call[];
  readonly assignments: readonly Assignment[];
  readonly functions: readonly FunctionBlock[];
  readonly dictionaries: readonly DictionaryLiteral[];
  /** Where the parser met something that is not Python. */
  readonly errors: readonly Span[];
  /** The dotted name of an expression with imports resolved. Parts that are no names are `?`: `?.item`. */
  nameOf(node: SyntaxNode): string;
}

export type BlockKind =
  | 'module'
  | 'function'
  | 'lambda'
  | 'class'
  | 'for'
  | 'while'
  | 'if'
  | 'else'
  | 'with'
  | 'except'
  | 'comprehension'
  | 'plain';

/** Statements that run together, in the order of nesting: a loop's body, a branch, a function. */
export interface Block {
  readonly kind: BlockKind;
  readonly parent: Block | null;
  /** Its statements. */
  readonly span: SyntaxNode;
  /** The statement or expression it belongs to. */
  readonly owner: SyntaxNode;
  /** The condition of a branch (for `else`: of the last branch before it), the iterable of a `for`, the items of a `with`. */
  readonly head: Span | null;
}

export interface FunctionBlock extends Block {
  readonly kind: 'function';
  readonly name: string;
  /** The class that it is a method of. */
  readonly className: string | null;
  /** Resolved names of that class's bases. */
  readonly bases: readonly string[];
}

export interface Call extends Arguments {
  readonly node: SyntaxNode;
  /** Resolved, dotted: `torch.optim.AdamW`. */
  readonly name: string;
  /** The last part of the name: `AdamW`. */
  readonly method: string;
  /** What stands before the last dot. Null: nothing does. */
  readonly receiver: SyntaxNode | null;
  readonly block: Block;
  /** The name that its statement assigns to, `self.` left out; or the key of the dictionary, or nothing. */
  readonly target: string | null;
}

export interface Assignment {
  /** Names on the left, `self.` kept: `self.model`, or `a` and `b` for `a, b = …`. */
  readonly targets: readonly string[];
  readonly value: SyntaxNode;
  readonly span: Span;
  readonly block: Block;
  /** `+=` and the like. */
  readonly isUpdate: boolean;
}

export interface DictionaryLiteral {
  readonly node: SyntaxNode;
  readonly block: Block;
}

export const isLoop = (block: Block): boolean => block.kind === 'for' || block.kind === 'while';
export const isFunction = (block: Block): block is FunctionBlock => block.kind === 'function';

/** The block and those around it, inside out. */
export function* around(block: Block): Generator<Block> {
  for (let at: Block | null = block; at; at = at.parent) yield at;
}

export const functionAround = (block: Block): FunctionBlock | null => {
  for (const outer of around(block)) if (isFunction(outer)) return outer;
  return null;
};

/** The nearest loop around that is in the same function. */
export function loopAround(block: Block): Block | null {
  for (const outer of around(block)) {
    if (isLoop(outer)) return outer;
    if (outer.kind === 'function' || outer.kind === 'lambda' || outer.kind === 'class') return null;
  }
  return null;
}

export const isInside = (inner: Span, outer: Span): boolean =>
  inner.from >= outer.from && inner.to <= outer.to;

/** Whether a loop or comprehension assigns to the name: `for x, y in …`. */
export function goesThrough({ kind, owner }: Block, name: string, { source }: Script): boolean {
  if (kind !== 'for' && kind !== 'comprehension') return false;
  const to = owner.getChild('Body')?.from ?? owner.to;
  const targets = source.textOf({ from: owner.from, to }).matchAll(/\bfor\s+(.+?)\s+in\b/gs);
  return [...targets].some(([, target]) => target!.split(/\W+/).includes(name));
}
