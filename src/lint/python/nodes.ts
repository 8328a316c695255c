import type { SyntaxNode } from '@lezer/common';
import { upperBound } from '../../base/search.js';

/** A stretch of the text, as a syntax node has it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The text of a script, and where its lines start. */
export class Source {
  readonly text: string;
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.text = text;
    const starts = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
  }

  textOf(node: Span | SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }

  /** Counted from 1. */
  lineAt(offset: number): number {
    return upperBound(this.#lineStarts, offset);
  }

  /** Counted from 1, in UTF-16 units as SARIF does. */
  columnAt(offset: number): number {
    return offset - this.#lineStarts[this.lineAt(offset) - 1]! + 1;
  }

  line(number: number): string {
    const start = this.#lineStarts[number - 1];
    if (start === undefined) return '';
    return this.text.slice(start, this.#lineStarts[number] ?? this.text.length).replace(/\r?\n$/, '');
  }
}

/** Nodes that stand for punctuation and keywords, not for expressions. */
const MARKS = new Set(['(', ')', '[', ']', '{', '}', ',', ':', '.', ';', 'AssignOp', 'Comment', '⚠']);

export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

export const isMark = (node: SyntaxNode): boolean => MARKS.has(node.name);

/** Without the parentheses around it. */
export function unwrapped(node: SyntaxNode): SyntaxNode {
  let inner = node;
  while (inner.name === 'ParenthesizedExpression' || inner.name === 'AwaitExpression') {
    const next = childrenOf(inner).findLast((child) => !isMark(child) && child.name !== 'await');
    if (!next) return inner;
    inner = next;
  }
  return inner;
}

export interface Arguments {
  readonly positional: readonly SyntaxNode[];
  readonly keywords: ReadonlyMap<string, SyntaxNode>;
  /** It has `*args` or `**kwargs`: what is missing may be in there. */
  readonly hasSpread: boolean;
}

/** The arguments in an ArgList. */
export function argumentsOf(list: SyntaxNode | null, text: string): Arguments {
  const positional: SyntaxNode[] = [];
  const keywords = new Map<string, SyntaxNode>();
  let hasSpread = false;
  let key: string | null = null;
  let isSpread = false;
  for (const child of list ? childrenOf(list) : []) {
    if (child.name === '*' || child.name === '**') {
      isSpread = true;
      hasSpread = true;
    } else if (isMark(child)) {
      if (child.name === ',') {
        key = null;
        isSpread = false;
      }
    } else if (child.nextSibling?.name === 'AssignOp') key = text.slice(child.from, child.to);
    else if (key !== null) keywords.set(key, child);
    else if (!isSpread && child.name !== 'for') positional.push(child);
  }
  return { positional, keywords, hasSpread };
}

/** The entries of a dictionary literal with plain strings as keys. */
export function entriesOf(dictionary: SyntaxNode, text: string): Map<string, SyntaxNode> {
  const entries = new Map<string, SyntaxNode>();
  let key: SyntaxNode | null = null;
  for (const child of childrenOf(dictionary)) {
    if (isMark(child)) {
      if (child.name === ',') key = null;
    } else if (key === null) key = child;
    else if (key.name === 'String') entries.set(stringIn(text.slice(key.from, key.to)), child);
  }
  return entries;
}

/** The value of a plain string literal, as far as lint needs it: no escapes. */
export const stringIn = (literal: string): string =>
  literal.replace(/^[a-zA-Z]*(?:"""|'''|"|')/, '').replace(/(?:"""|'''|"|')$/, '');
