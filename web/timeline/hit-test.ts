import type { Lane } from './layout.js';
import { formatNs } from './names.js';
import { type Scene, TOP } from './scene.js';
import { levelOf, type Tile, type TileStore } from './tiles.js';

/** What is under the pointer. */
export interface Hit {
  readonly row: number;
  readonly index: number;
  readonly name: string;
  readonly count: number;
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
}

/** Slices this near count, for many are narrower than a pixel. CSS pixels. */
const NEAR = 3;

export function hitTest(scene: Scene, tiles: TileStore, x: number, y: number, lane: Lane | null): Hit | null {
  if (lane?.kind !== 'track' || x < scene.gutter) return null;
  const row = lane.firstRow + Math.floor((y - TOP + scene.scrollTop - lane.y) / lane.rowHeight);
  const time = scene.from + (x - scene.gutter) * scene.nsPerPixel;
  const reach = NEAR * scene.nsPerPixel;
  let best: Hit | null = null;
  let distance = reach;
  const look = (tile: Tile) => {
    const isCounter = lane.info?.kind === 'counter';
    const { slices, rowStart } = tile;
    const [first, last] = isCounter ? [0, slices.length] : [rowStart[row] ?? 0, rowStart[row + 1] ?? 0];
    for (let i = first; i < last; i++) {
      const [start, end] = [slices.start[i]!, slices.end[i]!];
      const away = time < start ? start - time : time > end ? time - end : 0;
      if (away > distance || (best && away === distance && distance > 0)) continue;
      distance = away;
      const count = slices.count[i]!;
      const name = slices.names[slices.name[i]!]!;
      best = {
        row,
        index: slices.index[i]!,
        name,
        count,
        start,
        end,
        lines: isCounter
          ? [counterLine(slices.busy[i]!, lane.info?.unit)]
          : count > 1
            ? [`${count} slices in ${formatNs(end - start)}, most time in this one`, 'click to zoom in']
            : [formatNs(end - start)],
      };
      if (away === 0) return;
    }
  };
  tiles.visit(lane.line.rank, lane.track, levelOf(scene.nsPerPixel), time - reach, time + reach, look);
  return best;
}

const counterLine = (value: number, unit = '') =>
  unit === 'bytes' ? `${(value / 1e9).toFixed(2)} GB` : `${Math.round(value)} ${unit}`;
