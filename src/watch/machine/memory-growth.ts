/** Blocks of time that are compared. */
const BLOCKS = 12;
/** The shortest blocks. Those of each further level are twice as long, up to two days. */
const FIRST_BLOCK_MS = 2000;
const LEVELS = 17;
/** No block may grow by less than this part of what they grow by on average: caches fill ever more slowly. */
const STEADY = 1 / 3;
/** In its last third it must grow by this part of what it does in its first. */
const NOT_SLOWING = 0.75;
/** Found earlier, in start-up for instance. */
const MOST_FOUND = 16;
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
 * Whether the memory of a job grows steadily, over half a minute or over weeks, in bounded memory. The lowest value of a block of
 * time counts, because memory of a batch comes and goes. Twelve blocks in a row, each higher than the one before, come by
 * chance once in 12! times if nothing grows.
 */
export class MemoryGrowth {
  /** By length of their blocks; the last block of each is not complete. */
  readonly #levels: readonly Block[][] = Array.from({ length: LEVELS }, () => []);
  #available = Number.NaN;
  /** The earliest ones, the first of them first. */
  readonly #found: Growth[] = [];
  #latest = Number.NEGATIVE_INFINITY;

  add(time: number, resident: number, available: number): void {
    if (!Number.isFinite(resident) || time <= this.#latest) return;
    this.#latest = time;
    this.#available = available;
    for (const [level, blocks] of this.#levels.entries()) {
      const last = blocks.at(-1);
      if (last && time < last.from + FIRST_BLOCK_MS * 2 ** level) {
        last.lowest = Math.min(last.lowest, resident);
        continue;
      }
      blocks.push({ from: time, lowest: resident });
      if (blocks.length > BLOCKS + 1) blocks.shift();
      // Kept: when it is asked for, the job may have ended.
      const found = this.#growthOf(blocks.slice(0, -1));
      if (!found) continue;
      this.#found.push(found);
      if (this.#found.length > MOST_FOUND) this.#found.splice(MOST_FOUND >> 1, 1);
    }
  }

  /** The first. Null: it did not grow, or there was room for much longer. `begun`: what came before is start-up. */
  growth(begun: number): Growth | null {
    return this.#found.find((f) => f.since >= begun) ?? null;
  }

  #growthOf(blocks: readonly Block[]): Growth | null {
    const [first, last] = [blocks[0], blocks.at(-1)];
    if (blocks.length < BLOCKS || !first || !last) return null;
    const bytes = last.lowest - first.lowest;
    const least = (STEADY * bytes) / (BLOCKS - 1);
    const isSteady = blocks.every((b, i) => i === 0 || b.lowest - blocks[i - 1]!.lowest >= least);
    if (!(bytes > 0) || !isSteady || isSlowing(blocks)) return null;
    const hours = (last.from - first.from) / 3.6e6;
    const perHour = bytes / hours;
    const hoursLeft = this.#available / perHour;
    // Written so that unknown memory is no alarm.
    if (!(hoursLeft <= AHEAD * hours)) return null;
    return { since: first.from, bytes, perHour, hoursLeft, resident: last.lowest };
  }
}

function isSlowing(blocks: readonly Block[]): boolean {
  const third = Math.floor(blocks.length / 3);
  const grew = (from: number, to: number) => blocks[to]!.lowest - blocks[from]!.lowest;
  const last = blocks.length - 1;
  return grew(last - third, last) < NOT_SLOWING * grew(0, third);
}
