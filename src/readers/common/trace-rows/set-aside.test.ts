import { describe, expect, it } from 'vitest';
import { ProblemLog } from '../../../base/problem.js';
import { Category } from '../../../model/category.js';
import type { KindInfo } from '../../../model/trace-data.js';
import { setAside } from './set-aside.js';

const S = 1e9;
const [KERNEL, METADATA] = [0, 1];

/** Twenty kernels of 1 s, one after the other, and others given as start and duration in seconds. */
function withOthers(...others: readonly (readonly [number, number])[]) {
  const spans = [...Array.from({ length: 20 }, (_, i) => [i, 1] as const), ...others];
  const data = {
    rows: spans.length + 1,
    ts: Float64Array.from([...spans.map(([start]) => start * S), Number.NaN]),
    dur: Float64Array.from([...spans.map(([, dur]) => dur * S), 0]),
    kind: Uint8Array.from([...spans.map(() => KERNEL), METADATA]),
  };
  const kind = { folded: 0, categoryName: '' };
  const kinds: KindInfo[] = [
    { ...kind, phase: 'X', category: Category.kernel, events: spans.length },
    { ...kind, phase: 'M', category: Category.other, events: 1 },
  ];
  const problems = new ProblemLog();
  const after = setAside(data, kinds, problems);
  return {
    aside: spans.slice(20).filter((_, i) => after[data.kind[20 + i]!]!.phase === ''),
    counts: after.map((k) => k.events),
    problems: problems.list().map((p) => `${p.code} ${p.count}`),
  };
}

describe('setAside', () => {
  it.each([
    ['a span of years', [5, 1e9]],
    ['a span that ends long after all others', [5, 1000]],
    ['a start in 1970', [-1.79e9, 1]],
    ['a start in the far future', [1e9, 1]],
  ] as const)('sets aside %s', (_, odd) => {
    expect(withOthers(odd)).toEqual({ aside: [odd], counts: [20, 1, 1], problems: ['impossible-time 1'] });
  });

  it('sets aside several that agree with each other', () => {
    const odd = [
      [-1.79e9, 1],
      [-1.79e9, 1],
    ] as const;
    expect(withOthers(...odd)).toMatchObject({ aside: odd, problems: ['impossible-time 2'] });
  });

  it('sets aside spans without a time, which the scanner has counted', () => {
    expect(withOthers([Number.NaN, 1])).toEqual({
      aside: [[Number.NaN, 1]],
      counts: [20, 1, 1],
      problems: [],
    });
  });

  it.each([
    ['a hang at the end, in which other spans end too', [19, 900], [18, 901], [0, 919.5]],
    ['a second window a day later', [86_400, 1], [86_401, 1], [86_402, 1], [86_403, 1], [86_404, 1]],
    ['a span somewhat longer than the trace', [0, 59]],
    ['a negative duration', [3, -1]],
  ] as [string, ...[number, number][]][])('keeps %s', (_, ...others) => {
    expect(withOthers(...others)).toEqual({ aside: [], counts: [20 + others.length, 1], problems: [] });
  });

  it('keeps everything in a trace of a few events', () => {
    const data = {
      rows: 2,
      ts: Float64Array.of(0, 1e15),
      dur: Float64Array.of(1, 1),
      kind: Uint8Array.of(0, 0),
    };
    const kinds = [{ phase: 'X', categoryName: '', category: Category.kernel, events: 2, folded: 0 }];
    expect(setAside(data, kinds, new ProblemLog())).toBe(kinds);
  });
});
