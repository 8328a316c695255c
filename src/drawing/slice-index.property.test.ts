import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SliceIndex } from './slice-index.js';
import { ColumnSlices, SliceBuilder } from './slices.js';

/** Slices after each other: gap, length, name. Some have no length, some are close together, some far apart. */
const row = fc
  .array(fc.tuple(fc.constantFrom(0, 0, 1, 3, 1000), fc.constantFrom(0, 1, 2, 50, 900), fc.nat(3)), {
    maxLength: 400,
  })
  .map((parts) => {
    const slices = new SliceBuilder();
    let at = 0;
    for (const [gap, length, name] of parts) {
      slices.add(at + gap, at + gap + length, name, name);
      at += gap + length;
    }
    return { columns: slices.finish(), end: at };
  });
const query = fc.tuple(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.double({ min: 0, max: 1, noNaN: true }),
);

it('a drawing of any range at any zoom covers every slice, keeps count and time, and is small', () => {
  fc.assert(
    fc.property(row, query, fc.integer({ min: 1, max: 300 }), ({ columns, end }, [a, b], width) => {
      const [from, to] = [Math.min(a, b) * end, Math.max(a, b) * end];
      const pixel = (to - from) / width;
      const out = new SliceBuilder();
      new SliceIndex(new ColumnSlices(columns)).query(from, to, pixel, out);
      const drawn = out.finish();
      const all = Array.from(columns.start.keys());
      const begins = (i: number) => columns.start[i]! < to;
      const inside = all.filter((i) => begins(i) && (columns.end[i]! > from || columns.start[i]! >= from));
      // In order, without overlap, each inside one drawn slice.
      let d = 0;
      for (const i of inside) {
        while (d < drawn.length && drawn.end[d]! < columns.end[i]!) d++;
        expect(drawn.start[d]).toBeLessThanOrEqual(columns.start[i]!);
        expect(drawn.end[d]).toBeGreaterThanOrEqual(columns.end[i]!);
      }
      for (let i = 1; i < drawn.length; i++) expect(drawn.start[i]).toBeGreaterThanOrEqual(drawn.end[i - 1]!);
      // A block may reach past the range by less than a pixel.
      const counted = drawn.count.reduce((n, c) => n + c, 0);
      expect(counted).toBeGreaterThanOrEqual(inside.length);
      const drawnOnes = all.filter((i) => drawn.index.some((f, k) => i >= f && i < f + drawn.count[k]!));
      expect(counted).toBe(drawnOnes.length);
      const busy = drawnOnes.reduce((sum, i) => sum + columns.end[i]! - columns.start[i]!, 0);
      expect(drawn.busy.reduce((sum, t) => sum + t, 0)).toBeCloseTo(busy, 2);
      // Slices of a pixel and more come by themselves.
      for (let k = 0; k < drawn.length; k++)
        if (drawn.count[k]! > 1) expect(drawn.end[k]! - drawn.start[k]!).toBeLessThanOrEqual(pixel);
      if (to > from) expect(drawn.length).toBeLessThanOrEqual(2 * width + 4);
    }),
  );
});

it('names the slice with most time', () => {
  const slices = new SliceBuilder();
  for (let i = 0; i < 64; i++) slices.add(i * 10, i * 10 + (i % 4 === 0 ? 9 : 2), i % 4 === 0 ? 7 : 1, 0);
  const out = new SliceBuilder();
  new SliceIndex(new ColumnSlices(slices.finish())).query(0, 640, 640, out);
  expect([...out.finish().name]).toEqual([7]);
});
