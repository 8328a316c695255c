import {
  type CollectiveGroup,
  IS_P2P,
  Kind,
  type RankCollectives,
  UNEVEN,
} from '../../facts/rank-collectives.js';
import type { MatchedGroup, MatchInput } from './matched.js';

/**
 * Collectives that are matched with each other: of one group, all on the device or all on the host, all with or all without
 * sequence numbers. Sends and receives: of one direction.
 */
export interface Channel {
  /** Index in the groups of the matching. */
  readonly group: number;
  readonly p2p: boolean;
  readonly lists: ChannelList[];
  /** Entries of all lists. */
  length: number;
}

/** One rank's entries, in order of start. */
export interface ChannelList {
  readonly rankIndex: number;
  readonly entries: number[];
}

type OpenGroup = Omit<MatchedGroup, 'instances' | 'confidence'> & { readonly captured: number[] };

/** `loose`: sends and receives whose other side is not known. */
export function findChannels(ranks: readonly MatchInput[]) {
  const { groups, groupOf } = joinGroups(ranks);
  const channels = new Map<number | string, Channel>();
  let loose = 0;
  ranks.forEach(({ rank, collectives: c }, rankIndex) => {
    for (let i = 0; i < c.length; i++) {
      const group = groupOf[rankIndex]![c.group[i]!]!;
      const direction = directionOf(rank, c, i);
      if (direction === null) {
        loose++;
        continue;
      }
      // Entries without a number stay apart, so that a few of them do not spoil the numbered ones.
      const numbered = direction === '' && !Number.isNaN(c.sequence[i]!);
      const sort = group * 4 + c.onDevice[i]! * 2 + Number(numbered);
      const key = direction === '' ? sort : `${sort} ${direction}`;
      const channel = channels.get(key) ?? { group, p2p: direction !== '', lists: [], length: 0 };
      channels.set(key, channel);
      let list = channel.lists.at(-1);
      if (list?.rankIndex !== rankIndex) {
        list = { rankIndex, entries: [] };
        channel.lists.push(list);
        if (groups[group]!.captured.at(-1) !== rankIndex) groups[group]!.captured.push(rankIndex);
      }
      list.entries.push(i);
      channel.length++;
    }
  });
  return { groups: groups as readonly OpenGroup[], channels: [...channels.values()], loose };
}

/** From which rank to which. Empty: not between two ranks; null: the other side is unknown. */
function directionOf(rank: number, c: RankCollectives, entry: number): string | null {
  if (IS_P2P[c.kind[entry]!] === 0) return '';
  const peer = c.peer[entry]!;
  if (peer < 0) return null;
  return c.kind[entry] === Kind.send ? `${rank}>${peer}` : `${peer}>${rank}`;
}

/**
 * One list of groups for all ranks. `groupOf`: by rank index, then by the rank's own group index. Names are compared only
 * where a rank has two groups of the same members: some programs number their groups differently on each rank.
 */
function joinGroups(ranks: readonly MatchInput[]) {
  const needsName = new Set<string>();
  for (const { collectives } of ranks) {
    const keys = new Set<string>();
    for (const { key } of collectives.groups) {
      if (keys.has(key)) needsName.add(key);
      keys.add(key);
    }
  }
  const groups: OpenGroup[] = [];
  const indexOfKey = new Map<string, number>();
  const indexFor = (g: CollectiveGroup) => {
    const key = needsName.has(g.key) ? `${g.key} ${g.name} ${g.description}` : g.key;
    const index = indexOfKey.get(key) ?? groups.push({ ...g, captured: [] }) - 1;
    indexOfKey.set(key, index);
    return index;
  };
  return { groups, groupOf: ranks.map((r) => r.collectives.groups.map(indexFor)) };
}

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
