import { type CollectiveGroup, IS_P2P, Kind, type RankCollectives } from '../../facts/rank-collectives.js';
import type { MatchedGroup, MatchInput } from './matched.js';

/**
 * Collectives that are counted together: of one group, on device or host, with sequence numbers or without, and, of sends
 * and receives, one direction.
 */
export interface Channel {
  readonly group: number;
  readonly p2p: boolean;
  readonly lists: ChannelList[];
  /** Entries of all lists. */
  length: number;
}

/** One rank's part, in order of start. */
export interface ChannelList {
  readonly place: number;
  readonly entries: number[];
}

type OpenGroup = Omit<MatchedGroup, 'instances' | 'confidence' | 'method'> & { readonly captured: number[] };

export function findChannels(ranks: readonly MatchInput[]) {
  const { groups, placeOf } = joinGroups(ranks);
  const channels: Channel[] = [];
  const places = new Map<number, Map<number, Channel>>();
  const channelOf = (group: number, sort: number, direction: number): Channel => {
    const id = group * 4 + sort;
    let directions = places.get(id);
    if (!directions) {
      directions = new Map();
      places.set(id, directions);
    }
    let channel = directions.get(direction);
    if (!channel) {
      channel = { group, p2p: direction >= 0, lists: [], length: 0 };
      directions.set(direction, channel);
      channels.push(channel);
    }
    return channel;
  };
  let loose = 0;
  ranks.forEach(({ rank, collectives: c }, place) => {
    for (let i = 0; i < c.length; i++) {
      const group = placeOf[place]![c.group[i]!]!;
      const direction = directionOf(rank, c, i);
      if (direction === UNKNOWN) {
        loose++;
        continue;
      }
      // Numbered ones need not suffer from a few without arguments.
      const numbered = Number(!Number.isNaN(c.sequence[i]!));
      const channel = channelOf(group, c.onDevice[i]! * 2 + (direction === NONE ? numbered : 0), direction);
      let list = channel.lists.at(-1);
      if (list?.place !== place) {
        list = { place, entries: [] };
        channel.lists.push(list);
        if (groups[group]!.captured.at(-1) !== place) groups[group]!.captured.push(place);
      }
      list.entries.push(i);
      channel.length++;
    }
  });
  return { groups: groups as readonly OpenGroup[], channels, loose };
}

const NONE = -1;
const UNKNOWN = -2;
/** More than ranks anywhere. */
const RANKS = 2 ** 24;

/** From whom to whom, as one number. */
function directionOf(rank: number, c: RankCollectives, entry: number): number {
  if (IS_P2P[c.kind[entry]!] === 0) return NONE;
  const peer = c.peer[entry]!;
  if (peer < 0) return UNKNOWN;
  return c.kind[entry] === Kind.send ? rank * RANKS + peer : peer * RANKS + rank;
}

/**
 * One number for a group on all ranks. Names are asked only where a rank has two groups of the same members: some
 * programs number their groups differently on each rank.
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
  const places = new Map<string, number>();
  const placeFor = (g: CollectiveGroup) => {
    const key = needsName.has(g.key) ? `${g.key} ${g.name} ${g.description}` : g.key;
    let place = places.get(key);
    if (place === undefined) {
      place = groups.push({ ...g, captured: [] }) - 1;
      places.set(key, place);
    }
    return place;
  };
  return { groups, placeOf: ranks.map((r) => r.collectives.groups.map(placeFor)) };
}
