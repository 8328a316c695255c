import { type CollectiveGroup, IS_P2P, Kind, type RankCollectives } from '../../facts/rank-collectives.js';
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
