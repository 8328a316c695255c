interface Kept<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Ranks in memory up to a limit. The one that was not asked for the longest goes first; the newest stays in any case. */
export class RecentRanks<T> {
  readonly #kept = new Map<number, Kept<T>>();
  readonly #coming = new Map<number, Promise<T>>();
  #bytes = 0;

  constructor(
    readonly limitBytes: number,
    readonly load: (rank: number) => Promise<Kept<T>>,
  ) {}

  get hasRoom(): boolean {
    return this.#bytes < this.limitBytes;
  }

  async get(rank: number): Promise<T> {
    const kept = this.#kept.get(rank);
    if (kept) {
      // Asked for last, so that it goes last.
      this.#kept.delete(rank);
      this.#kept.set(rank, kept);
      return kept.value;
    }
    const coming = this.#coming.get(rank) ?? this.#fetch(rank);
    this.#coming.set(rank, coming);
    return coming;
  }

  put(rank: number, kept: Kept<T>): void {
    this.#kept.set(rank, kept);
    this.#bytes += kept.bytes;
    for (const [old, { bytes }] of this.#kept) {
      if (this.#bytes <= this.limitBytes || old === rank) break;
      this.#kept.delete(old);
      this.#bytes -= bytes;
    }
  }

  async #fetch(rank: number): Promise<T> {
    try {
      const kept = await this.load(rank);
      this.put(rank, kept);
      return kept.value;
    } finally {
      this.#coming.delete(rank);
    }
  }
}

/** Memory of the columns in plain data. */
export function bytesOf(value: unknown): number {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  for (const item of Object.values(value)) if (typeof item === 'object') sum += bytesOf(item);
  return sum;
}
