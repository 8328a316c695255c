import { partitionPoint } from './search.js';

/** Disjoint spans in order of time, as two columns. */
export interface Spans {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly length: number;
}

export const NO_SPANS: Spans = { start: new Float64Array(0), end: new Float64Array(0), length: 0 };

/** Takes spans in order of start and joins those that touch or overlap. */
export class SpanUnion {
  // Typed, and grown by doubling: a trace has hundreds of thousands of spans, and an array of numbers must be copied in the end.
  #start = new Float64Array(16);
  #end = new Float64Array(16);
  #length = 0;

  add(start: number, end: number): void {
    if (!(end > start)) return;
    const last = this.#length - 1;
    if (last >= 0 && start <= this.#end[last]!) {
      if (end > this.#end[last]!) this.#end[last] = end;
      return;
    }
    if (this.#length === this.#start.length) this.#grow();
    this.#start[this.#length] = start;
    this.#end[this.#length++] = end;
  }

  #grow(): void {
    const [start, end] = [this.#start, this.#end];
    this.#start = new Float64Array(2 * start.length);
    this.#end = new Float64Array(2 * end.length);
    this.#start.set(start);
    this.#end.set(end);
  }

  finish(): Spans {
    const length = this.#length;
    return { start: this.#start.slice(0, length), end: this.#end.slice(0, length), length };
  }
}

/** Union of spans in any order. */
export function unionOf(spans: readonly (readonly [start: number, end: number])[]): Spans {
  const union = new SpanUnion();
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) union.add(start, end);
  return union.finish();
}

/** The same for objects with a start and an end. */
export const unionOfSpans = (spans: readonly { readonly start: number; readonly end: number }[]): Spans =>
  unionOf(spans.map((s) => [s.start, s.end]));

/** Time in a or b. */
export function union(a: Spans, b: Spans): Spans {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const out = new SpanUnion();
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (j >= b.length || (i < a.length && a.start[i]! <= b.start[j]!)) {
      out.add(a.start[i]!, a.end[i]!);
      i++;
    } else {
      out.add(b.start[j]!, b.end[j]!);
      j++;
    }
  }
  return out.finish();
}

/** Time in a but not in b. */
export function subtract(a: Spans, b: Spans): Spans {
  const out = new SpanUnion();
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    let from = a.start[i]!;
    const to = a.end[i]!;
    while (j < b.length && b.end[j]! <= from) j++;
    for (let k = j; k < b.length && b.start[k]! < to; k++) {
      out.add(from, Math.min(to, b.start[k]!));
      from = Math.max(from, b.end[k]!);
    }
    out.add(from, to);
  }
  return out.finish();
}

export function clip(a: Spans, from: number, to: number): Spans {
  const out = new SpanUnion();
  for (let i = 0; i < a.length; i++) out.add(Math.max(from, a.start[i]!), Math.min(to, a.end[i]!));
  return out.finish();
}

/** Time in [from, to] that no span covers. */
export function gapsOf(a: Spans, from: number, to: number): Spans {
  return subtract(unionOf([[from, to]]), a);
}

export function lengthOf(a: Spans): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a.end[i]! - a.start[i]!;
  return sum;
}

/** Whether a span has begun and not yet ended at `time`. */
export function isInside(spans: Spans, time: number): boolean {
  const begun = partitionPoint(spans.length, (i) => spans.start[i]! <= time);
  return begun > 0 && time < spans.end[begun - 1]!;
}

/**
 * How much of [from, to] the spans cover. The cursor stays where the last question ended, so that questions in order of
 * time take one pass together. Going back is allowed but slower.
 */
export class CoverageCursor {
  #at = 0;
  constructor(readonly spans: Spans) {}

  covered(from: number, to: number): number {
    const { start, end, length } = this.spans;
    if (length === 0 || !(to > from)) return 0;
    while (this.#at > 0 && end[this.#at - 1]! > from) this.#at--;
    while (this.#at < length && end[this.#at]! <= from) this.#at++;
    let sum = 0;
    for (let i = this.#at; i < length && start[i]! < to; i++) {
      sum += Math.min(to, end[i]!) - Math.max(from, start[i]!);
    }
    return sum;
  }
}
