import type { MatchedCollectives } from '../collectives/match.js';

type Coordinates = Readonly<Record<string, number>>;

/** An axis is worth nothing when it has one place, or one rank at each. */
const LEAST_SIZE = 2;
/** Axes beyond these are subsets and unions of the first ones. */
const MOST_AXES = 4;

/**
 * Places in the mesh, from process groups: groups of one size that share no rank and together hold all of them lie along
 * an axis, and a rank's place on it is its place in its group. Null for each rank where groups do not tell.
 */
export function coordinatesFromGroups(matched: MatchedCollectives): (Coordinates | null)[] {
  const all = [...matched.ranks].sort((a, b) => a - b);
  const bySize = new Map<string, (readonly number[])[]>();
  const seen = new Set<string>();
  for (const { ranks, description } of matched.groups) {
    if (!ranks || ranks.length < LEAST_SIZE || ranks.length >= all.length) continue;
    const id = ranks.join();
    if (seen.has(id)) continue;
    seen.add(id);
    const stride = ranks[1]! - ranks[0]!;
    const key = `${ranks.length} ${stride} ${description.replace(/\d+/g, '')}`;
    bySize.set(key, [...(bySize.get(key) ?? []), ranks]);
  }
  const axes = [...bySize].filter(([, groups]) => isPartition(groups, all)).slice(0, MOST_AXES);
  if (axes.length === 0) return matched.ranks.map(() => null);
  return matched.ranks.map((rank) => {
    const places = axes.map(([key, groups]) => {
      const name = key.split(' ').slice(2).join(' ').trim() || `stride${key.split(' ')[1]}`;
      return [name, groups.find((g) => g.includes(rank))!.indexOf(rank)] as const;
    });
    return Object.fromEntries(places);
  });
}

/** Every captured rank is in exactly one of the groups; ranks that were not captured may be in them too. */
function isPartition(groups: readonly (readonly number[])[], all: readonly number[]): boolean {
  const members = groups.flat();
  return (
    groups.length >= LEAST_SIZE &&
    new Set(members).size === members.length &&
    all.every((r) => members.includes(r))
  );
}
