import { expect, it } from 'vitest';
import { PAINTS, SHADES } from '../../src/drawing/paint.js';
import type { Lane } from './layout.js';
import { fillAt, type Palette } from './palette.js';
import { Raster } from './raster.js';
import type { Scene } from './scene.js';
import type { Tile } from './tiles.js';

const WIDTH = 60;
const HEIGHT = 6;
const [BACKGROUND, EDGE] = [7, 9];
/** Every paint and grade is a pixel of its own; the others cannot be confused with them. */
const fills = Uint32Array.from({ length: PAINTS.length * SHADES * 4 }, (_, i) => 1000 + i);
const palette = {
  fills,
  edges: fills.map(() => EDGE),
  darkText: new Uint8Array(PAINTS.length * SHADES),
  background: Uint32Array.of(BACKGROUND),
} as unknown as Palette;
const lane = { info: { kind: 'stream' }, rowHeight: 4 } as unknown as Lane;

interface Slice {
  readonly start: number;
  readonly end: number;
  readonly paint: number;
  readonly count?: number;
}

const tileOf = (slices: readonly Slice[]) =>
  ({
    slices: {
      start: slices.map((s) => s.start),
      end: slices.map((s) => s.end),
      paint: slices.map((s) => s.paint),
      count: slices.map((s) => s.count ?? 1),
      busy: slices.map((s) => s.end - s.start),
      name: slices.map((_, i) => i),
    },
    rowStart: [0, slices.length],
    labels: slices.map((_, i) => `slice ${i}`),
  }) as unknown as Tile;

/** Draws one row, with one ns per pixel, and returns its pixels line by line. */
function drawn(tiles: readonly (readonly [Tile, number, number])[], gutter = 0) {
  const image = { data: new Uint8ClampedArray(WIDTH * HEIGHT * 4) };
  const context = {
    canvas: { width: WIDTH, height: HEIGHT },
    createImageData: () => image,
    putImageData: () => {},
  } as unknown as CanvasRenderingContext2D;
  const raster = new Raster();
  raster.begin(context, { from: 0, nsPerPixel: 1, gutter } as Scene, palette, 1);
  raster.beginRow(lane, 0, 1);
  for (const [tile, from, to] of tiles) raster.addTile(tile, from, to);
  raster.endRow(lane.rowHeight);
  raster.end(context);
  const pixels = new Uint32Array(image.data.buffer);
  const { labels } = raster;
  return {
    lines: Array.from({ length: HEIGHT }, (_, y) => [...pixels.subarray(y * WIDTH, (y + 1) * WIDTH)]),
    labels: labels.text.slice(0, labels.count).map((text, i) => [text, labels.x[i], labels.width[i]]),
  };
}
const full = (paint: number) => fills[fillAt(paint, 3)]!;
const times = (count: number, pixel: number) => new Array<number>(count).fill(pixel);

it('a slice fills its pixels in every line of its row but the last, and ends with an edge', () => {
  const { lines } = drawn([[tileOf([{ start: 10, end: 20, paint: 3 }]), 0, 60]]);
  const line = [...times(10, BACKGROUND), ...times(9, full(3)), EDGE, ...times(40, BACKGROUND)];
  const empty = times(WIDTH, BACKGROUND);
  expect(lines).toEqual([empty, line, line, line, empty, empty]);
});

it('a slice shorter than a pixel still has one', () => {
  const { lines } = drawn([[tileOf([{ start: 10.2, end: 10.3, paint: 3 }]), 0, 60]]);
  expect(lines[1]!.filter((pixel) => pixel === full(3))).toHaveLength(1);
});

it('a slice that reaches over the left and the right edge stays inside the picture', () => {
  const { lines } = drawn([[tileOf([{ start: -30, end: 200, paint: 5 }]), -100, 300]]);
  expect(lines[1]!.filter((pixel) => pixel === full(5)).length).toBeGreaterThanOrEqual(WIDTH - 1);
  expect(lines[0]).toEqual(times(WIDTH, BACKGROUND));
});

it('only wide slices that stand for one event have a label, at their first visible pixel', () => {
  const wide = { start: -10, end: 30, paint: 1 };
  const many = { start: 30, end: 59, paint: 1, count: 5 };
  expect(drawn([[tileOf([wide, many]), -100, 100]]).labels).toEqual([['slice 0', 0, 30]]);
  expect(drawn([[tileOf([{ start: 0, end: 25, paint: 1 }]), 0, 60]]).labels).toEqual([]);
});

it('a slice in two tiles is labeled once, by the tile with its first visible part', () => {
  const tile = tileOf([{ start: 5, end: 50, paint: 1 }]);
  const { labels, lines } = drawn([
    [tile, 0, 30],
    [tile, 30, 60],
  ]);
  expect(labels).toEqual([['slice 0', 5, 45]]);
  expect(lines[1]!.slice(5, 49)).toEqual(times(44, full(1)));
});
