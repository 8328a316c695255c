import { drawMinimap, drawRuler } from './axis.js';
import { LabelWriter } from './label-writer.js';
import { type Lane, RANK_HEAD } from './layout.js';
import { drawOverlays } from './overlays.js';
import { Overview } from './overview.js';
import type { Palette } from './palette.js';
import { Raster } from './raster.js';
import { type Scene, TOP } from './scene.js';
import { levelOf, type TileStore } from './tiles.js';

/** Draws a frame: pixels of slices, then text and lines over them. */
export class Painter {
  readonly #context: CanvasRenderingContext2D;
  readonly #raster = new Raster();
  readonly #writer = new LabelWriter();
  readonly #overview = new Overview();
  ratio = 1;
  width = 0;
  height = 0;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly tiles: TileStore,
  ) {
    // Pixels are made here, not on the graphics card.
    this.#context = canvas.getContext('2d', { alpha: false, willReadFrequently: true })!;
  }

  resize(width: number, height: number, ratio: number): void {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
  }

  frame(scene: Scene, palette: Palette): void {
    const context = this.#context;
    const raster = this.#raster;
    context.setTransform(1, 0, 0, 1, 0, 0);
    raster.begin(context, scene, palette, this.ratio);
    const to = scene.from + (this.width - scene.gutter) * scene.nsPerPixel;
    const level = levelOf(scene.nsPerPixel);
    for (const lane of scene.lanes) {
      const top = TOP + lane.y - scene.scrollTop;
      if (lane.kind !== 'track' || top + lane.height < TOP || top > this.height) continue;
      for (let row = 0; row < lane.rows; row++) {
        const y = top + row * lane.rowHeight;
        if (y + lane.rowHeight < TOP || y > this.height) continue;
        raster.beginRow(lane, row + lane.firstRow, y);
        this.tiles.visit(lane.line.rank, lane.track, level, scene.from, to, raster.addTile);
        raster.endRow(lane.rowHeight);
      }
    }
    raster.end(context);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.#writer.write(context, raster.labels);
    for (const lane of scene.lanes) if (lane.kind === 'rank') this.#steps(scene, lane, palette);
    drawOverlays(context, scene, palette, this.width, this.height);
    this.#gutter(scene, palette);
    drawRuler(context, scene, palette, this.width);
    drawMinimap(
      context,
      scene,
      palette,
      this.width,
      this.#overview.get(scene, palette, this.tiles, this.width),
    );
  }

  /** The head of a rank: its steps, each with its time. */
  #steps(scene: Scene, { y, line }: Lane, { css }: Palette): void {
    const context = this.#context;
    const top = TOP + y - scene.scrollTop;
    if (top + RANK_HEAD < TOP || top > this.height) return;
    context.fillStyle = css.bg;
    context.fillRect(0, top, this.width, RANK_HEAD);
    context.font = '600 11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const xOf = (time: number) => scene.gutter + (time - scene.from) / scene.nsPerPixel;
    for (const step of line.steps) {
      const [x0, x1] = [Math.max(scene.gutter, xOf(step.from)), Math.min(this.width, xOf(step.to))];
      if (x1 <= scene.gutter || x0 >= this.width) continue;
      context.fillStyle = css.line;
      context.fillRect(x0, top + 2, Math.max(1, x1 - x0 - 1), RANK_HEAD - 4);
      if (x1 - x0 < 30) continue;
      context.fillStyle = css.text;
      this.#writer.clipped(
        context,
        stepLabel(step.number, step.to - step.from, x1 - x0),
        x0 + 5,
        top + RANK_HEAD / 2,
        x1 - x0 - 8,
        'step ',
      );
    }
  }

  #gutter(scene: Scene, { css }: Palette): void {
    const context = this.#context;
    const { gutter } = scene;
    context.fillStyle = css.panel;
    context.fillRect(0, TOP, gutter, this.height - TOP);
    context.textBaseline = 'middle';
    for (const lane of scene.lanes) {
      const top = TOP + lane.y - scene.scrollTop;
      if (top + lane.height < TOP || top > this.height) continue;
      const isRank = lane.kind === 'rank';
      if (isRank) {
        context.fillStyle = css.bg;
        context.fillRect(0, top, gutter, RANK_HEAD);
      }
      context.font = isRank ? '700 12px system-ui, sans-serif' : '11px system-ui, sans-serif';
      context.fillStyle = isRank ? (lane.line.late ? css.mark : css.text) : css.muted;
      const title = isRank && lane.line.late ? `${lane.title} · late` : lane.title;
      const indent = isRank ? 8 : 20;
      const middle = top + (isRank ? RANK_HEAD / 2 : Math.min(lane.height, lane.rowHeight) / 2);
      this.#writer.clipped(context, title, indent, middle, gutter - indent - 6, isRank ? 'rank ' : '');
      if (lane.kind === 'track' && lane.info!.rows > 1) arrowHead(context, 11, middle, lane.collapsed);
    }
    context.fillStyle = css.line;
    context.fillRect(gutter - 1, 0, 1, this.height);
  }
}

const stepLabel = (number: number, time: number, width: number) =>
  width > 110 ? `Step ${number} · ${(time / 1e6).toFixed(time < 1e7 ? 2 : 1)} ms` : `${number}`;

/** ▸ or ▾. */
function arrowHead(context: CanvasRenderingContext2D, x: number, y: number, closed: boolean): void {
  context.beginPath();
  if (closed) {
    context.moveTo(x - 2, y - 4);
    context.lineTo(x + 3, y);
    context.lineTo(x - 2, y + 4);
  } else {
    context.moveTo(x - 4, y - 2);
    context.lineTo(x + 4, y - 2);
    context.lineTo(x, y + 3);
  }
  context.fill();
}
