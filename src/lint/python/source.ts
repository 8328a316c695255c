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
