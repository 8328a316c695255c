import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Arranged, nest, pack } from './arrange.js';

const spans = fc
  .array(fc.tuple(fc.nat(200), fc.nat(60)), { maxLength: 60 })
  .map((list) => list.sort((a, b) => a[0] - b[0] || b[1] - a[1]));

function check(list: readonly (readonly [number, number])[], { rows, leftOut }: Arranged): void {
  expect(leftOut).toBe(0);
  const drawn = rows.flatMap((r) => [...r]).sort((a, b) => a - b);
  expect(drawn).toEqual([...list.keys()]);
  for (const row of rows) {
    for (let i = 1; i < row.length; i++) {
      const [before, own] = [list[row[i - 1]!]!, list[row[i]!]!];
      expect(own[0]).toBeGreaterThanOrEqual(before[0] + before[1]);
    }
  }
}

it.each([
  ['nested', nest],
  ['packed', pack],
])('%s slices are all drawn, and none overlaps in its row', (_, arrange) => {
  fc.assert(
    fc.property(spans, (list) => {
      const times = { ts: Float64Array.from(list, (s) => s[0]), dur: Float64Array.from(list, (s) => s[1]) };
      check(list, arrange(Uint32Array.from(list.keys()), times));
    }),
  );
});

it('overlapping kernels take as many rows as run at once', () => {
  const ts = Float64Array.from([0, 5, 10, 12]);
  const dur = Float64Array.from([10, 10, 5, 1]);
  expect(pack(Uint32Array.from([0, 1, 2, 3]), { ts, dur }).rows.map((r) => [...r])).toEqual([
    [0, 2],
    [1],
    [3],
  ]);
});

it('what is too deep is counted, not drawn over others', () => {
  const n = 1500;
  const ts = new Float64Array(n);
  const dur = new Float64Array(n).fill(10);
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  for (const arrange of [nest, pack]) {
    const { rows, leftOut } = arrange(order, { ts, dur });
    expect(rows.length + leftOut).toBe(n);
  }
});
