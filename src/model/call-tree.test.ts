import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../test/helpers/draw-trace.js';

const parents = (drawing: string) => {
  const trace = drawTrace(drawing);
  return Object.fromEntries(
    Array.from({ length: trace.data.rows }, (_, row) => {
      const parent = trace.calls.parent[row]!;
      return [trace.name(row), parent < 0 ? null : trace.name(parent)];
    }),
  );
};

describe('buildCallTree', () => {
  it('nests calls whatever their order in the file', () => {
    const drawing = 'host 1  launch 15-18 | inner 12-20 | outer 10-40 | later 41-50';
    expect(parents(drawing)).toEqual({ launch: 'inner', inner: 'outer', outer: null, later: null });
  });

  it('of two spans that start together, the longer one is the caller', () => {
    expect(parents('host 1  short 10-20 | long 10-40')).toEqual({ short: 'long', long: null });
  });

  it('keeps tracks apart', () => {
    expect(parents('host 1  a 0-100\nhost 2  b 10-20\ngpu 7  k 30-40')).toEqual({
      a: null,
      b: null,
      k: null,
    });
  });

  it('does not nest what follows without a gap', () => {
    expect(parents('host 1  a 0-10 | b 10-20')).toEqual({ a: null, b: null });
  });

  it('counts spans that overlap without nesting, beyond a microsecond', () => {
    const { calls } = drawTrace('host 1  a 0-10 | b 5-15 | c 20-30 | d 25-30.5');
    expect(calls.overlaps).toBe(1);
    expect(calls.firstOverlap).toBe(1);
  });
});
