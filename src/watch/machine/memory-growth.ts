/** Blocks of time that are compared. Their length doubles with the run. */
const BLOCKS = 12;
const MOST_BLOCKS = 2 * BLOCKS;
const FIRST_BLOCK_MS = 2000;
/** No block may grow by less than this part of what they grow by on average: caches fill ever more slowly. */
const STEADY = 1 / 3;
/** Memory is full before it has grown for so many times longer. Less is no reason for an alarm. */
const AHEAD = 8;

export interface Growth {
  /** ms since 1970. */
  readonly since: number;
  readonly bytes: number;
  readonly perHour: number;
  /** Hours until the memory of the machine is full, if it goes on. */
  readonly hoursLeft: number;
  readonly resident: number;
}

interface Block {
  readonly from: number;
  lowest: number;
}

/**
 * Whether the memory of a job grows steadily, in a bounded number of blocks of time. The lowest value of each counts, because
 * memory of a batch comes and goes. Twelve blocks in a row, each higher than the one before, come by chance once
 * in 12! times if nothing grows.
 */
export class MemoryGrowth {
  #blocks: Block[] = [];
  #length = FIRST_BLOCK_MS;
  #available = Number.NaN;
  #latest = Number.NEGATIVE_INFINITY;

  add(time: number, resident: number, available: number): void {
    if (!Number.isFinite(resident) || time <= this.#latest) return;
    this.#latest = time;
    this.#available = available;
    const last = this.#blocks.at(-1);
    if (last && time < last.from + this.#length) {
      last.lowest = Math.min(last.lowest, resident);
      return;
    }
    this.#blocks.push({ from: time, lowest: resident });
    if (this.#blocks.length > MOST_BLOCKS) this.#double();
  }

  #double(): void {
    this.#length *= 2;
    const kept: Block[] = [];
    for (let i = 0; i + 1 < this.#blocks.length; i += 2) {
      const [a, b] = [this.#blocks[i]!, this.#blocks[i + 1]!];
      kept.push({ from: a.from, lowest: Math.min(a.lowest, b.lowest) });
    }
    this.#blocks = kept;
  }

  /** Null: it does not grow, or there is room for much longer than it has. `begun`: what came before is start-up. */
  growth(begun: number): Growth | null {
    // The last block is not complete.
    const blocks = this.#blocks.slice(-BLOCKS - 1, -1);
    const [first, last] = [blocks[0], blocks.at(-1)];
    if (blocks.length < BLOCKS || !first || !last || first.from < begun) return null;
    const bytes = last.lowest - first.lowest;
    const least = (STEADY * bytes) / (BLOCKS - 1);
    const isSteady = blocks.every((b, i) => i === 0 || b.lowest - blocks[i - 1]!.lowest >= least);
    if (!(bytes > 0) || !isSteady) return null;
    const hours = (last.from - first.from) / 3.6e6;
    const perHour = bytes / hours;
    const hoursLeft = this.#available / perHour;
    // Written so that unknown memory is no alarm.
    if (!(hoursLeft <= AHEAD * hours)) return null;
    return { since: first.from, bytes, perHour, hoursLeft, resident: last.lowest };
  }
}
