import { IS_P2P, type RankCollectives, UNEVEN } from '../../facts/rank-collectives.js';

/** Whether two entries may be the same collective: kind, type and size agree, where both are known. */
export function agrees(a: RankCollectives, i: number, b: RankCollectives, j: number): boolean {
  const [kindA, kindB] = [a.kind[i]!, b.kind[j]!];
  if (kindA !== kindB && !(IS_P2P[kindA] === 1 && IS_P2P[kindB] === 1)) return false;
  const [typeA, typeB] = [a.dtypes[a.dtype[i]!]!, b.dtypes[b.dtype[j]!]!];
  if (typeA !== typeB && typeA !== '' && typeB !== '') return false;
  if (UNEVEN[kindA] === 1) return true;
  const [sizeA, sizeB] = [a.bytes[i]!, b.bytes[j]!];
  return sizeA === sizeB || Number.isNaN(sizeA) || Number.isNaN(sizeB);
}

/** Gives entries a number that is equal for equal kind, type and size, to compare whole lists quickly. */
export class Tokens {
  /** By type and kind, then by size. */
  readonly #known = new Map<string, Map<number, number>>();
  #count = 0;

  of(c: RankCollectives, entries: readonly number[]): Int32Array {
    const tokens = new Int32Array(entries.length);
    const sorts = new Map<number, Map<number, number>>();
    for (let k = 0; k < entries.length; k++) {
      const i = entries[k]!;
      const kind = c.kind[i]!;
      // All lists of a rank have few sorts: texts are made once for each.
      const sort = c.dtype[i]! * KINDS + kind;
      const sizes = sorts.get(sort) ?? this.#sizesOf(kind, c.dtypes[c.dtype[i]!]!);
      sorts.set(sort, sizes);
      const size = UNEVEN[kind] === 1 ? -1 : c.bytes[i]!;
      let token = sizes.get(size);
      if (token === undefined) {
        token = this.#count++;
        sizes.set(size, token);
      }
      tokens[k] = token;
    }
    return tokens;
  }

  #sizesOf(kind: number, dtype: string): Map<number, number> {
    const sort = `${IS_P2P[kind] === 1 ? 'p2p' : kind} ${dtype}`;
    const sizes = this.#known.get(sort) ?? new Map<number, number>();
    this.#known.set(sort, sizes);
    return sizes;
  }
}

/** Kinds fit into a byte. */
const KINDS = 256;
