import { labelOf } from './names.js';
import type { DrawnSlices, TimelineSource } from './source.js';

/** Width of a tile in pixels of its level. At level L a pixel is 2^L ns. */
const TILE = 512;
/** Tiles that are kept: about 2 KB each, up to 50 KB where slices are dense. */
const MOST_TILES = 6000;
/** Tiles under way. A source may answer those of one rank and time together. */
const MOST_REQUESTS = 120;
const FALLBACKS = 10;
/** Waits before a tile that failed is asked for again, in ms. After the last one the page shows the failure. */
const RETRY_AFTER = [500, 2_000, 8_000];
/** A tile that failed for good may be asked for again after so long: servers and tunnels come back. */
const FORGIVEN_AFTER = 30_000;

export interface Tile {
  readonly from: number;
  readonly to: number;
  readonly slices: DrawnSlices;
  /** Slices of row r are from `rowStart[r]` up to `rowStart[r + 1]`. */
  readonly rowStart: Uint32Array;
  readonly labels: readonly string[];
}

/** What is known of one tile. */
interface Place {
  /** Null: not there yet, or not to be had. */
  tile: Tile | null;
  /** The visit that needed it last. */
  usedAt: number;
}

/** The tiles of a lane: by level, by number of the tile. */
class LaneTiles {
  readonly levels = new Map<number, Map<number, Place>>();

  get(level: number, index: number): Place | undefined {
    return this.levels.get(level)?.get(index);
  }

  set(level: number, index: number, place: Place): void {
    let tiles = this.levels.get(level);
    if (!tiles) {
      tiles = new Map();
      this.levels.set(level, tiles);
    }
    tiles.set(index, place);
  }

  delete(level: number, index: number): void {
    this.levels.get(level)?.delete(index);
  }
}

interface Request {
  readonly rank: number;
  readonly track: number;
  readonly level: number;
  readonly index: number;
}

export const levelOf = (nsPerPixel: number): number => Math.floor(Math.log2(nsPerPixel) + 0.3);

/** Slices by tile: asked for once, kept while they are used, and asked for ahead of the view. */
export class TileStore {
  readonly #lanes = new Map<number, LaneTiles>();
  readonly #queue: Request[] = [];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #kept = 0;
  #visits = 0;
  /** On their way, or waiting to be asked for again. */
  #awaited = 0;
  #underWay = 0;

  constructor(
    readonly source: TimelineSource,
    /** A tile has come, or will not come. */
    readonly onTile: () => void,
    readonly onError: (error: unknown) => void,
    readonly most = MOST_TILES,
  ) {}

  /** Nothing is missing or on its way. */
  get isIdle(): boolean {
    return this.#awaited === 0 && this.#queue.length === 0;
  }

  close(): void {
    this.dropQueue();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
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
    this.#visits++;
    for (let index = Math.floor(from / size); index * size < to; index++) {
      const place = lane.get(level, index);
      if (place?.tile) {
        this.#use(place, from, to, use);
        continue;
      }
      if (!place) this.#ask(lane, { rank, track, level, index });
      this.#fallBack(lane, level, Math.max(from, index * size), Math.min(to, (index + 1) * size), use);
    }
  }

  /** Asks for what may be shown next, once all that is shown is there. */
  prefetch(rank: number, track: number, level: number, from: number, to: number): void {
    const lane = this.#lane(rank, track);
    const size = TILE * 2 ** level;
    for (let index = Math.floor(from / size); index * size < to; index++)
      if (!lane.get(level, index)) this.#ask(lane, { rank, track, level, index });
  }

  /** What is not under way yet is forgotten: the view has moved on. */
  dropQueue(): void {
    for (const { rank, track, level, index } of this.#queue) this.#lane(rank, track).delete(level, index);
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
      const place = lane.get(level + up, Math.floor(from / size));
      if (place?.tile) return this.#use(place, from, to, use);
    }
    for (let down = 1; down <= 2; down++) {
      const size = TILE * 2 ** (level - down);
      for (let index = Math.floor(from / size); index * size < to; index++) {
        const place = lane.get(level - down, index);
        if (place?.tile) this.#use(place, from, to, use);
      }
    }
  }

  #use(place: Place, from: number, to: number, use: (tile: Tile, from: number, to: number) => void): void {
    const tile = place.tile!;
    place.usedAt = this.#visits;
    use(tile, Math.max(from, tile.from), Math.min(to, tile.to));
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
    lane.set(request.level, request.index, { tile: null, usedAt: this.#visits });
    this.#queue.push(request);
    this.#next();
  }

  #next(): void {
    while (this.#underWay < MOST_REQUESTS && this.#queue.length > 0) {
      this.#awaited++;
      void this.#fetch(this.#queue.shift()!, 0);
    }
  }

  async #fetch(request: Request, retries: number): Promise<void> {
    const { rank, track, level, index } = request;
    const size = TILE * 2 ** level;
    const [from, to] = [index * size, (index + 1) * size];
    this.#underWay++;
    try {
      const slices = await this.source.slices({ rank, track, from, to, width: TILE });
      const tile = tileOf(slices, from, to);
      this.#lane(rank, track).set(level, index, { tile, usedAt: this.#visits });
      this.#kept++;
      this.#evict();
      this.#settle();
    } catch (error) {
      const wait = RETRY_AFTER[retries];
      if (wait !== undefined) this.#after(wait, () => void this.#fetch(request, retries + 1));
      else {
        this.#after(FORGIVEN_AFTER, () => this.#lane(rank, track).delete(level, index));
        this.onError(error);
        this.#settle();
      }
    }
    this.#underWay--;
    this.#next();
  }

  #settle(): void {
    this.#awaited--;
    this.onTile();
  }

  #after(wait: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, wait);
    this.#timers.add(timer);
  }

  /** Those used longest ago go first, a tenth at once: finding them takes a look at all. */
  #evict(): void {
    if (this.#kept <= this.most) return;
    const kept: { readonly usedAt: number; readonly forget: () => void }[] = [];
    for (const lane of this.#lanes.values())
      for (const [level, places] of lane.levels)
        for (const [index, { tile, usedAt }] of places)
          if (tile) kept.push({ usedAt, forget: () => lane.delete(level, index) });
    kept.sort((a, b) => a.usedAt - b.usedAt);
    const tooMany = Math.ceil(this.most / 10);
    for (const { forget } of kept.slice(0, tooMany)) forget();
    this.#kept -= tooMany;
  }
}

function tileOf(slices: DrawnSlices, from: number, to: number): Tile {
  const rows = slices.length === 0 ? 0 : slices.row[slices.length - 1]! + 1;
  const rowStart = new Uint32Array(rows + 1);
  for (let i = 0; i < slices.length; i++) rowStart[slices.row[i]! + 1]!++;
  for (let r = 1; r <= rows; r++) rowStart[r]! += rowStart[r - 1]!;
  return { from, to, slices, rowStart, labels: slices.names.map(labelOf) };
}
