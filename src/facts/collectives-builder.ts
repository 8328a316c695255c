import { type CollectiveKind, Kind, type RankCollectives } from './rank-collectives.js';

/** Enough for several steps of any model; 53 bytes each. */
const MAX_ENTRIES = 200_000;

export interface Entry {
  readonly group: number;
  readonly kind: CollectiveKind;
  readonly sequence: number;
  readonly peer: number;
  readonly bytes: number;
  readonly dtype: string;
  readonly start: number;
  readonly end: number;
  readonly onDevice: boolean;
  readonly step: number;
  readonly exposed: number;
}

/** Collects entries in any order. Those beyond the cap are counted and left out. */
export class CollectivesBuilder {
  readonly #entries: Entry[] = [];
  #leftOut = 0;

  constructor(readonly cap = MAX_ENTRIES) {}

  get length(): number {
    return this.#entries.length;
  }

  /** Index of the entry, for `extend`; −1 when there is no room. */
  add(entry: Entry): number {
    if (this.#entries.length >= this.cap) {
      this.#leftOut++;
      return -1;
    }
    return this.#entries.push(entry) - 1;
  }

  /** Another kernel of the same collective. */
  extend(index: number, start: number, end: number, exposed: number): void {
    const entry = this.#entries[index]!;
    this.#entries[index] = {
      ...entry,
      start: Math.min(entry.start, start),
      end: Math.max(entry.end, end),
      exposed: entry.exposed + exposed,
    };
  }

  finish(
    more: Pick<
      RankCollectives,
      'source' | 'baseNs' | 'timed' | 'groups' | 'steps' | 'numbered' | 'profilerStart'
    >,
  ): RankCollectives {
    // The sort is stable: entries without times keep the order in which they were added.
    const entries = this.#entries.sort((a, b) => a.start - b.start);
    const numbers = (of: (e: Entry) => number) => Float64Array.from(entries, of);
    const dtypes = [''];
    const indexOfType = (text: string) => {
      const index = dtypes.indexOf(text);
      // Torch has a few dozen types, but a damaged file may name any number.
      return index >= 0 ? index : dtypes.length < 255 ? dtypes.push(text) - 1 : 0;
    };
    return {
      ...more,
      length: entries.length,
      group: Uint16Array.from(entries, (e) => e.group),
      kind: Uint8Array.from(entries, (e) => Kind[e.kind]),
      sequence: numbers((e) => e.sequence),
      peer: Int32Array.from(entries, (e) => e.peer),
      bytes: numbers((e) => e.bytes),
      dtype: Uint8Array.from(entries, (e) => indexOfType(e.dtype)),
      start: numbers((e) => e.start),
      end: numbers((e) => e.end),
      onDevice: Uint8Array.from(entries, (e) => Number(e.onDevice)),
      step: Int32Array.from(entries, (e) => e.step),
      exposed: numbers((e) => e.exposed),
      dtypes,
      leftOut: this.#leftOut,
    };
  }
}
