import { partitionPoint } from '../base/search.js';
import type { SliceBuilder, Slices } from './slices.js';

/** Slices per block, and blocks per block of the next level. */
const FAN = 8;

/** Blocks of one level. A block's times are those of its first and last slice. */
interface Level {
  /** Slices per block. */
  readonly size: number;
  /** The longest slice of the name with most time. */
  readonly lead: Uint32Array;
  /** ns of that name. */
  readonly leadTime: Float32Array;
  readonly count: Uint32Array;
  readonly busy: Float64Array;
}

/**
 * The levels of detail of one row. A block holds eight slices, a block of the next level eight blocks, and so on: where
 * slices are dense, blocks are short. So a query at any zoom reads a few blocks for each pixel, however many events there are
 * and however they cluster. Three bytes for each slice.
 */
export class SliceIndex {
  readonly #levels: readonly Level[];

  constructor(readonly slices: Slices) {
    const levels: Level[] = [];
    let below: Level | null = null;
    for (
      let size = FAN;
      size <= slices.length * FAN && (below === null || below.lead.length > 1);
      size *= FAN
    ) {
      below = buildLevel(slices, below, size);
      levels.push(below);
    }
    this.#levels = levels;
  }

  /** Index of the first slice that ends after `time`, or that has no length and is there. */
  firstAfter(time: number): number {
    const { slices } = this;
    return partitionPoint(slices.length, (i) => slices.end(i) <= time && slices.start(i) < time);
  }

  /**
   * Adds what is to be drawn of [from, to] to `out`. Slices of at least `pixel` ns come one by one. Shorter ones that are
   * within one pixel come as one, which stands for them all: at most two for each pixel. Slices before `first` are left out.
   */
  query(from: number, to: number, pixel: number, out: SliceBuilder, first = 0): void {
    const { slices } = this;
    const pending = new Pending(slices, pixel, out);
    for (let i = Math.max(first, this.firstAfter(from)); i < slices.length && slices.start(i) < to; ) {
      const level = this.#levelAt(i, pixel);
      if (level === null) {
        pending.add(i, i, slices.end(i), slices.count(i), slices.busy(i), slices.busy(i));
        i++;
      } else {
        const block = i / level.size;
        const next = Math.min(slices.length, i + level.size);
        const { lead, leadTime, count, busy } = level;
        pending.add(i, lead[block]!, slices.end(next - 1), count[block]!, busy[block]!, leadTime[block]!);
        i = next;
      }
    }
    pending.flush();
  }

  /** The largest block that begins with slice i and is within one pixel. Null: not even the smallest. */
  #levelAt(i: number, pixel: number): Level | null {
    const { slices } = this;
    let found: Level | null = null;
    for (const level of this.#levels) {
      if (i % level.size !== 0) break;
      const last = Math.min(slices.length, i + level.size) - 1;
      if (slices.end(last) - slices.start(i) > pixel) break;
      found = level;
    }
    return found;
  }
}

/** Joins what is within one pixel. */
class Pending {
  #first = -1;
  #lead = -1;
  #leadTime = 0;
  #start = 0;
  #end = 0;
  #count = 0;
  #busy = 0;

  constructor(
    readonly slices: Slices,
    readonly pixel: number,
    readonly out: SliceBuilder,
  ) {}

  add(first: number, lead: number, end: number, count: number, busy: number, leadTime: number): void {
    if (this.#first >= 0 && end - this.#start > this.pixel) this.flush();
    if (this.#first < 0) {
      this.#first = first;
      this.#start = this.slices.start(first);
      this.#count = 0;
      this.#busy = 0;
      this.#leadTime = -1;
    }
    this.#end = end;
    this.#count += count;
    this.#busy += busy;
    if (leadTime > this.#leadTime) {
      this.#lead = lead;
      this.#leadTime = leadTime;
    }
  }

  flush(): void {
    if (this.#first < 0) return;
    const { slices } = this;
    const lead = this.#lead;
    this.out.add(
      this.#start,
      this.#end,
      slices.name(lead),
      slices.paint(lead),
      this.#count,
      this.#busy,
      this.#first,
    );
    this.#first = -1;
  }
}

/** What a block is made of: slices, or the blocks below. It distinguishes at most FAN names. */
function buildLevel(slices: Slices, below: Level | null, size: number): Level {
  const parts = below ? below.lead.length : slices.length;
  const length = Math.ceil(parts / FAN);
  const level = {
    size,
    lead: new Uint32Array(length),
    leadTime: new Float32Array(length),
    count: new Uint32Array(length),
    busy: new Float64Array(length),
  };
  const leads = new Uint32Array(FAN);
  const names = new Uint32Array(FAN);
  const times = new Float64Array(FAN);
  const longest = new Float64Array(FAN);
  for (let block = 0; block < length; block++) {
    const end = Math.min(parts, (block + 1) * FAN);
    let [known, count, busy] = [0, 0, 0];
    for (let part = block * FAN; part < end; part++) {
      const lead = below ? below.lead[part]! : part;
      const time = below ? below.leadTime[part]! : slices.busy(part);
      count += below ? below.count[part]! : slices.count(part);
      busy += below ? below.busy[part]! : slices.busy(part);
      const name = slices.name(lead);
      let k = 0;
      while (k < known && names[k] !== name) k++;
      if (k === known) {
        known++;
        names[k] = name;
        times[k] = 0;
        longest[k] = -1;
      }
      times[k]! += time;
      const own = slices.busy(lead);
      if (own > longest[k]!) {
        longest[k] = own;
        leads[k] = lead;
      }
    }
    let most = 0;
    for (let k = 1; k < known; k++) if (times[k]! > times[most]!) most = k;
    level.lead[block] = leads[most]!;
    level.leadTime[block] = times[most]!;
    level.count[block] = count;
    level.busy[block] = busy;
  }
  return level;
}
