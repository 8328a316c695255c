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
  readonly #known = new Map<string, number>();

  of(c: RankCollectives, entries: readonly number[]): Int32Array {
    return Int32Array.from(entries, (i) => {
      const kind = c.kind[i]!;
      const size = UNEVEN[kind] === 1 ? '' : c.bytes[i]!;
      const text = `${IS_P2P[kind] === 1 ? 'p2p' : kind} ${c.dtypes[c.dtype[i]!]} ${size}`;
      const token = this.#known.get(text) ?? this.#known.size;
      this.#known.set(text, token);
      return token;
    });
  }
}
