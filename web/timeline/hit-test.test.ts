import { describe, expect, it } from 'vitest';
import { hitTest } from './hit-test.js';
import type { Lane } from './layout.js';
import { type Scene, TOP } from './scene.js';
import type { Tile, TileStore } from './tiles.js';

const GUTTER = 100;
/** One ns a pixel, so that places are times. */
const scene = { from: 0, nsPerPixel: 1, gutter: GUTTER, scrollTop: 0 } as Scene;
const lane = {
  kind: 'track',
  line: { rank: 0 },
  track: 0,
  info: { kind: 'stream' },
  y: 0,
  rowHeight: 17,
  firstRow: 0,
} as unknown as Lane;

/** Two slices in the first row, one that stands for many in the second. */
const tile = {
  slices: {
    start: [10, 40, 10],
    end: [20, 41, 90],
    index: [0, 1, 0],
    count: [1, 1, 12],
    name: [0, 1, 2],
    busy: [0, 0, 0],
    names: ['add', 'mul', 'gemm'],
    length: 3,
  },
  rowStart: [0, 2, 3],
} as unknown as Tile;
const tiles = {
  visit: (...[, , , , , use]: Parameters<TileStore['visit']>) => use(tile, 0, 100),
} as unknown as TileStore;
const hit = (time: number, row = 0, on = lane) =>
  hitTest(scene, tiles, GUTTER + time, TOP + row * 17 + 5, on);

describe('what is under the pointer', () => {
  it('the pointer is over the slice of that row and time', () => {
    expect(hit(15)).toMatchObject({ name: 'add', row: 0, start: 10, lines: ['10 ns'] });
    expect(hit(15, 1)).toMatchObject({ name: 'gemm', row: 1, count: 12 });
    expect(hit(15, 1)!.lines[0]).toContain('12 slices');
  });

  it('the pointer picks the nearest slice up to three pixels away', () => {
    expect(hit(38)).toMatchObject({ name: 'mul' });
    expect(hit(30)).toBeNull();
  });

  it('the pointer picks nothing over titles and between tracks', () => {
    expect(hit(-5)).toBeNull();
    expect(hitTest(scene, tiles, GUTTER + 15, TOP, null)).toBeNull();
    expect(hit(15, 0, { ...lane, kind: 'rank' })).toBeNull();
  });

  it('the pointer over a counter picks its value, whatever the row', () => {
    const counter = { ...lane, info: { kind: 'counter', unit: 'W' } } as unknown as Lane;
    expect(hit(15, 0, counter)!.lines).toEqual(['0 W']);
  });
});
