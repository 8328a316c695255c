import { labelOf } from './names.js';
import type { DrawnSlices, TimelineSource } from './source.js';

/** Width of a tile in pixels of its level. At level L a pixel is 2^L ns. */
const TILE = 512;
/** Tiles that are kept: some 2 KB each, up to 50 KB where slices are dense. */
const MOST_TILES = 6000;
/** Tiles under way. A source may answer those of one rank and time together. */
const MOST_REQUESTS = 120;
const FALLBACKS = 10;

export interface Tile {
  readonly from: number;
  readonly to: number;
  readonly slices: DrawnSlices;
  /** Slices of row r are from `rowStart[r]` up to `rowStart[r + 1]`. */
  readonly rowStart: Uint32Array;
  readonly labels: readonly string[];
}

/** What a lane has been told so far: by level, by number of the tile. */
class LaneTiles {
  readonly levels = new Map<number, Map<number, Tile | null>>();

  get(level: number, index: number): Tile | null | undefined {
    return this.levels.get(level)?.get(index);
  }

  set(level: number, index: number, tile: Tile | null): void {
    let tiles = this.levels.get(level);
    if (!tiles) {
      tiles = new Map();
      this.levels.set(level, tiles);
    }
    tiles.set(index, tile);
  }
}

interface Request {
  readonly rank: number;
  readonly track: number;
  readonly level: number;
  readonly index: number;
}

export const levelOf = (nsPerPixel: number): number => Math.floor(Math.log2(nsPerPixel) + 0.3);

/** Slices by tile: asked for once, kept, and asked for ahead of the view. */
export class TileStore {
  readonly #lanes = new Map<number, LaneTiles>();
  readonly #queue: Request[] = [];
  readonly #order: Request[] = [];
  #underWay = 0;

  constructor(
    readonly source: TimelineSource,
    readonly onTile: () => void,
    readonly onError: (error: unknown) => void,
  ) {}

  /** Nothing is missing or on its way. */
  get isIdle(): boolean {
    return this.#underWay === 0 && this.#queue.length === 0;
  }

  /** Calls `use` with tiles that cover [from, to] as well as known. What is missing is asked for. */
  visit(
    rank: number,
    track: number,
    level: number,
    from: number,
    to: number,
    use: (tile: Tile, from: number, to: number) => void,
  ): void {
    const lane = this.#lane(rank, track);
    const size = TILE * 2 ** level;
    for (let index = Math.floor(from / size); index * size < to; index++) {
      const tile = lane.get(level, index);
      if (tile) {
        use(tile, Math.max(from, tile.from), Math.min(to, tile.to));
        continue;
      }
      if (tile === undefined) this.#ask(lane, { rank, track, level, index });
      this.#fallBack(lane, level, Math.max(from, index * size), Math.min(to, (index + 1) * size), use);
    }
  }

  /** Asks for what may be shown next, once all that is shown is there. */
  prefetch(rank: number, track: number, level: number, from: number, to: number): void {
    const lane = this.#lane(rank, track);
    const size = TILE * 2 ** level;
    for (let index = Math.floor(from / size); index * size < to; index++)
      if (lane.get(level, index) === undefined) this.#ask(lane, { rank, track, level, index });
  }

  /** What is not under way yet is forgotten: the view has moved on. */
  dropQueue(): void {
    for (const { rank, track, level, index } of this.#queue)
      this.#lane(rank, track).levels.get(level)?.delete(index);
    this.#queue.length = 0;
  }

  /** A coarser tile, or two levels of finer ones. */
  #fallBack(
    lane: LaneTiles,
    level: number,
    from: number,
    to: number,
    use: (tile: Tile, from: number, to: number) => void,
  ): void {
    for (let up = 1; up <= FALLBACKS; up++) {
      const size = TILE * 2 ** (level + up);
      const tile = lane.get(level + up, Math.floor(from / size));
      if (tile) return use(tile, from, Math.min(to, tile.to));
    }
    for (let down = 1; down <= 2; down++) {
      const size = TILE * 2 ** (level - down);
      for (let index = Math.floor(from / size); index * size < to; index++) {
        const tile = lane.get(level - down, index);
        if (tile) use(tile, Math.max(from, tile.from), Math.min(to, tile.to));
      }
    }
  }

  #lane(rank: number, track: number): LaneTiles {
    const key = rank * 65536 + track;
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = new LaneTiles();
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #ask(lane: LaneTiles, request: Request): void {
    lane.set(request.level, request.index, null);
    this.#queue.push(request);
    this.#next();
  }

  #next(): void {
    while (this.#underWay < MOST_REQUESTS && this.#queue.length > 0) {
      const request = this.#queue.shift()!;
      this.#underWay++;
      void this.#fetch(request).finally(() => {
        this.#underWay--;
        this.#next();
      });
    }
  }

  async #fetch(request: Request): Promise<void> {
    const { rank, track, level, index } = request;
    const size = TILE * 2 ** level;
    const [from, to] = [index * size, (index + 1) * size];
    try {
      const slices = await this.source.slices({ rank, track, from, to, width: TILE });
      this.#lane(rank, track).set(level, index, tileOf(slices, from, to));
      this.#order.push(request);
      this.#evict();
      this.onTile();
    } catch (error) {
      this.onError(error);
    }
  }

  /** The oldest go first. */
  #evict(): void {
    while (this.#order.length > MOST_TILES) {
      const { rank, track, level, index } = this.#order.shift()!;
      this.#lane(rank, track).levels.get(level)?.delete(index);
    }
  }
}

function tileOf(slices: DrawnSlices, from: number, to: number): Tile {
  const rows = slices.length === 0 ? 0 : slices.row[slices.length - 1]! + 1;
  const rowStart = new Uint32Array(rows + 1);
  for (let i = 0; i < slices.length; i++) rowStart[slices.row[i]! + 1]!++;
  for (let r = 1; r <= rows; r++) rowStart[r]! += rowStart[r - 1]!;
  return { from, to, slices, rowStart, labels: slices.names.map(labelOf) };
}
