import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CoverageCursor,
  clip,
  gapsOf,
  lengthOf,
  type Spans,
  SpanUnion,
  subtract,
  union,
  unionOf,
} from './intervals.js';

/** A simple model: one cell for each nanosecond of a short time. */
const LENGTH = 60;
type Pair = readonly [start: number, end: number];
const time = fc.integer({ min: 0, max: LENGTH });
/** Also empty and backward spans: traces have both. */
const pairs = fc.array(fc.tuple(time, time), { maxLength: 12 });

const cells = (test: (ns: number) => boolean) => Array.from({ length: LENGTH }, (_, ns) => test(ns));
const cellsOfPairs = (list: readonly Pair[]) => cells((ns) => list.some(([s, e]) => s <= ns && ns < e));
const pairsOf = (a: Spans): Pair[] => Array.from({ length: a.length }, (_, i) => [a.start[i]!, a.end[i]!]);
const cellsOf = (a: Spans) => cellsOfPairs(pairsOf(a));
const count = (list: readonly boolean[]) => list.filter(Boolean).length;

/** Spans are not empty, in order, and do not touch. */
function expectProper(a: Spans): void {
  expect([a.start.length, a.end.length]).toEqual([a.length, a.length]);
  for (let i = 0; i < a.length; i++) {
    expect(a.end[i]!).toBeGreaterThan(a.start[i]!);
    if (i > 0) expect(a.start[i]!).toBeGreaterThan(a.end[i - 1]!);
  }
}

describe('unions', () => {
  it('cover what any span covers, in any order', () => {
    fc.assert(
      fc.property(pairs, (list) => {
        const a = unionOf(list);
        expectProper(a);
        expect(cellsOf(a)).toEqual(cellsOfPairs(list));
        expect(lengthOf(a)).toBe(count(cellsOfPairs(list)));
      }),
    );
  });

  it('join spans that touch, leave out empty ones and grow', () => {
    const a = new SpanUnion();
    for (let i = 0; i < 500; i++) a.add(i * 10, i * 10 + 5);
    a.add(4995, 5000);
    a.add(6000, 6000);
    a.add(Number.NaN, 7000);
    expectProper(a.finish());
    expect(pairsOf(a.finish()).at(-1)).toEqual([4990, 5000]);
    expect(a.finish().length).toBe(500);
  });
});

describe('arithmetic', () => {
  const sameAs = (a: Spans, expected: readonly boolean[]) => {
    expectProper(a);
    expect(cellsOf(a)).toEqual(expected);
  };

  it('union and difference of two lists of intervals', () => {
    fc.assert(
      fc.property(pairs, pairs, (x, y) => {
        const [a, b] = [unionOf(x), unionOf(y)];
        const [inA, inB] = [cellsOf(a), cellsOf(b)];
        sameAs(
          union(a, b),
          inA.map((v, i) => v || inB[i]!),
        );
        sameAs(
          subtract(a, b),
          inA.map((v, i) => v && !inB[i]!),
        );
      }),
    );
  });

  it('clip and gaps of one list of intervals in a window', () => {
    fc.assert(
      fc.property(pairs, time, time, (x, from, to) => {
        const a = unionOf(x);
        const inA = cellsOf(a);
        const inside = cells((ns) => from <= ns && ns < to);
        sameAs(
          clip(a, from, to),
          inA.map((v, i) => v && inside[i]!),
        );
        sameAs(
          gapsOf(a, from, to),
          inA.map((v, i) => !v && inside[i]!),
        );
      }),
    );
  });
});

describe('CoverageCursor', () => {
  const covers = (questions: fc.Arbitrary<readonly Pair[]>) =>
    fc.assert(
      fc.property(pairs, questions, (x, asked) => {
        const a = unionOf(x);
        const cursor = new CoverageCursor(a);
        for (const [from, to] of asked) {
          const expected = cellsOf(a).filter((v, ns) => v && from <= ns && ns < to);
          expect(cursor.covered(from, to)).toBe(expected.length);
        }
      }),
    );

  it('answers questions in order of time', () => covers(pairs.map((q) => q.toSorted((a, b) => a[0] - b[0]))));
  it('answers questions in any order', () => covers(pairs));
});
