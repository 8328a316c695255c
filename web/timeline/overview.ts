import { fillAt, gradeOf, type Palette } from './palette.js';
import type { Scene } from './scene.js';
import { levelOf, type Tile, type TileStore } from './tiles.js';

/** One line of pixels: the classes of the first rank over the whole recording. Drawn again until all of it is known. */
export class Overview {
  readonly #canvas = document.createElement('canvas');
  #key = '';
  #isComplete = false;

  /** Null: nothing is known yet. */
  get(scene: Scene, palette: Palette, tiles: TileStore, width: number): CanvasImageSource | null {
    const lane = scene.lanes.find((l) => l.info?.kind === 'classes');
    const pixels = Math.max(1, Math.round(width - scene.gutter));
    if (!lane) return null;
    const key = `${lane.line.rank} ${pixels} ${palette.css.bg}`;
    if (key === this.#key && this.#isComplete) return this.#canvas;
    const { from, to } = scene.whole;
    const perPixel = (to - from) / pixels;
    this.#canvas.width = pixels;
    this.#canvas.height = 1;
    const context = this.#canvas.getContext('2d')!;
    const image = context.createImageData(pixels, 1);
    const line = new Uint32Array(image.data.buffer);
    let covered = 0;
    const draw = ({ slices: { length, start, end, paint, busy } }: Tile, first: number, last: number) => {
      covered += last - first;
      for (let i = 0; i < length; i++) {
        const [s, e] = [start[i]!, end[i]!];
        const x0 = Math.max(0, Math.floor((s - from) / perPixel));
        const fill = palette.fills[fillAt(paint[i]!, gradeOf(busy[i]!, e - s))]!;
        line.fill(fill, x0, Math.max(x0 + 1, Math.ceil((e - from) / perPixel)));
      }
    };
    tiles.visit(lane.line.rank, lane.track, levelOf(perPixel), from, to, draw);
    context.putImageData(image, 0, 0);
    this.#key = key;
    this.#isComplete = covered >= to - from - perPixel;
    return this.#canvas;
  }
}
