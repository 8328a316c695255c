import { IS_P2P, type RankCollectives, UNEVEN } from '../../facts/rank-collectives.js';

/** Whether two entries may be the same collective: kind, type and size, where both are known. */
export function agrees(a: RankCollectives, i: number, b: RankCollectives, j: number): boolean {
  const [ka, kb] = [a.kind[i]!, b.kind[j]!];
  if (ka !== kb && !(IS_P2P[ka] === 1 && IS_P2P[kb] === 1)) return false;
  const [ta, tb] = [a.dtypes[a.dtype[i]!]!, b.dtypes[b.dtype[j]!]!];
  if (ta !== tb && ta !== '' && tb !== '') return false;
  if (UNEVEN[ka] === 1) return true;
  const [sa, sb] = [a.bytes[i]!, b.bytes[j]!];
  return sa === sb || Number.isNaN(sa) || Number.isNaN(sb);
}

/** The same as numbers that are equal where entries agree, for comparing whole lists. */
export class Tokens {
  readonly #known = new Map<string, number>();

  of(c: RankCollectives, entries: readonly number[]): Int32Array {
    return Int32Array.from(entries, (i) => {
      const kind = c.kind[i]!;
      const size = UNEVEN[kind] === 1 ? '' : c.bytes[i]!;
      const text = `${IS_P2P[kind] === 1 ? 'p2p' : kind} ${c.dtypes[c.dtype[i]!]} ${size}`;
      let token = this.#known.get(text);
      if (token === undefined) {
        token = this.#known.size;
        this.#known.set(text, token);
      }
      return token;
    });
  }
}
