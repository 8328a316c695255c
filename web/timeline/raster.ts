import { Paint, painted } from '../../src/drawing/paint.js';
import type { Lane } from './layout.js';
import { fillAt, gradeOf, type Palette } from './palette.js';
import type { Scene } from './scene.js';
import type { Tile } from './tiles.js';

/** Narrower slices have no label. CSS pixels. */
const LEAST_LABEL = 26;
const MOST_LABELS = 4000;
const COUNTER_PAINT = painted(Paint.runtime);

/** Labels to be written over the pixels. */
export class Labels {
  count = 0;
  readonly text: string[] = new Array<string>(MOST_LABELS).fill('');
  readonly x = new Float32Array(MOST_LABELS);
  readonly y = new Float32Array(MOST_LABELS);
  readonly width = new Float32Array(MOST_LABELS);
  readonly dark = new Uint8Array(MOST_LABELS);

  add(text: string, x: number, y: number, width: number, dark: number): void {
    const i = this.count;
    if (i >= MOST_LABELS) return;
    this.text[i] = text;
    this.x[i] = x;
    this.y[i] = y;
    this.width[i] = width;
    this.dark[i] = dark;
    this.count = i + 1;
  }
}

/**
 * Draws slices as pixels. All slices of a row have the same height, so one line of pixels is made and copied: ten thousands
 * of slices take a millisecond, and a frame allocates nothing.
 */
export class Raster {
  readonly labels = new Labels();
  #image: ImageData | null = null;
  #pixels = new Uint32Array(0);
  #line = new Uint32Array(0);
  #width = 0;
  #height = 0;
  #ratio = 1;
  #palette!: Palette;
  #scene!: Scene;
  #lane!: Lane;
  #row = 0;
  /** Of the row, in CSS pixels. */
  #y = 0;

  begin(context: CanvasRenderingContext2D, scene: Scene, palette: Palette, ratio: number): void {
    const { width, height } = context.canvas;
    if (this.#width !== width || this.#height !== height) {
      this.#image = context.createImageData(width, height);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
      this.#line = new Uint32Array(width);
      this.#width = width;
      this.#height = height;
    }
    this.#ratio = ratio;
    this.#palette = palette;
    this.#scene = scene;
    this.#pixels.fill(palette.background[0]!);
    this.labels.count = 0;
  }

  end(context: CanvasRenderingContext2D): void {
    context.putImageData(this.#image!, 0, 0);
  }

  beginRow(lane: Lane, row: number, y: number): void {
    this.#lane = lane;
    this.#row = row;
    this.#y = y;
    this.#line.fill(this.#palette.background[0]!);
  }

  /** The part of a tile from `from` to `to`. */
  readonly addTile = (tile: Tile, from: number, to: number): void => {
    if (this.#lane.info?.kind === 'counter') this.#addCounter(tile, from, to);
    else this.#addSlices(tile, from, to);
  };

  #addSlices({ slices, rowStart, labels }: Tile, from: number, to: number): void {
    const row = this.#row;
    if (row + 1 >= rowStart.length) return;
    const { start, end, paint, count, busy, name } = slices;
    const { from: left, nsPerPixel, gutter } = this.#scene;
    const { fills, edges, darkText } = this.#palette;
    const [ratio, width, line] = [this.#ratio, this.#width, this.#line];
    const perNs = ratio / nsPerPixel;
    const offset = gutter * ratio;
    const leastLabel = LEAST_LABEL * ratio;
    for (let i = rowStart[row]!, last = rowStart[row + 1]!; i < last; i++) {
      const [s, e] = [start[i]!, end[i]!];
      if (e < from || s >= to) continue;
      const shownFrom = s > from ? s : from;
      let x0 = Math.round(offset + (shownFrom - left) * perNs);
      let x1 = Math.round(offset + ((e < to ? e : to) - left) * perNs);
      if (x1 <= x0) x1 = x0 + 1;
      if (x0 < 0) x0 = 0;
      if (x1 > width) x1 = width;
      if (x1 <= x0) continue;
      const fill = fillAt(paint[i]!, gradeOf(busy[i]!, e - s));
      line.fill(fills[fill]!, x0, x1);
      if (x1 - x0 > 3 && e <= to) line[x1 - 1] = edges[fill]!;
      // Where a slice spans tiles, the tile with its first visible part writes the label.
      if (count[i] !== 1 || (e - (s > left ? s : left)) * perNs < leastLabel) continue;
      if (s < from && from > left) continue;
      const x = gutter + ((s > left ? s : left) - left) / nsPerPixel;
      const visible = gutter + (e - left) / nsPerPixel - x;
      this.labels.add(labels[name[i]!]!, x, this.#y, visible, darkText[paint[i]!]!);
    }
  }

  #addCounter({ slices }: Tile, from: number, to: number): void {
    const { from: left, nsPerPixel, gutter } = this.#scene;
    const { rowHeight, info } = this.#lane;
    const fill = this.#palette.fills[fillAt(COUNTER_PAINT, 1)]!;
    const edge = this.#palette.fills[fillAt(COUNTER_PAINT, 3)]!;
    const [ratio, width, height, pixels] = [this.#ratio, this.#width, this.#height, this.#pixels];
    const bottom = Math.round((this.#y + rowHeight) * ratio);
    for (let i = 0; i < slices.length; i++) {
      const [s, e] = [slices.start[i]!, slices.end[i]!];
      if (e < from || s >= to) continue;
      const x0 = Math.max(0, Math.round((gutter + (Math.max(s, from) - left) / nsPerPixel) * ratio));
      const x1 = Math.min(width, Math.round((gutter + (Math.min(e, to) - left) / nsPerPixel) * ratio));
      const share = Math.min(1, Math.max(0, slices.busy[i]! / (info?.max || 1)));
      const top = Math.max(0, bottom - Math.round(share * (rowHeight - 2) * ratio));
      for (let y = top; y < bottom && y < height; y++)
        pixels.fill(y < top + ratio ? edge : fill, y * width + x0, y * width + Math.max(x1, x0 + 1));
    }
  }

  /** Copies the line to the whole height of the row. */
  endRow(rowHeight: number): void {
    if (this.#lane.info?.kind === 'counter') return;
    const [width, ratio] = [this.#width, this.#ratio];
    const top = Math.max(0, Math.round(this.#y * ratio));
    const bottom = Math.min(this.#height, Math.round((this.#y + rowHeight - 1) * ratio));
    if (bottom <= top) return;
    this.#pixels.set(this.#line, top * width);
    for (let y = top + 1; y < bottom; y++) this.#pixels.copyWithin(y * width, top * width, (top + 1) * width);
  }
}
