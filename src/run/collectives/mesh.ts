import type { MatchedCollectives } from './matched.js';

type Coordinates = Readonly<Record<string, number>>;

/** An axis is worth nothing when it has one place, or one rank at each. */
const LEAST_SIZE = 2;
/** Axes beyond these are subsets and unions of the first ones. */
const MOST_AXES = 4;

/** Groups of one size that share no rank and together hold all of them lie along an axis. */
interface GroupAxis {
  readonly name: string;
  readonly groups: readonly (readonly number[])[];
}

/**
 * Places in the mesh, from process groups: a rank's place on an axis is its place in its group. Null for each rank where
 * groups do not tell.
 */
export function coordinatesFromGroups(matched: MatchedCollectives): (Coordinates | null)[] {
  const axes = axesFromGroups(matched);
  if (axes.length === 0) return matched.ranks.map(() => null);
  return matched.ranks.map((rank) => {
    const places = axes.map(({ name, groups }) => {
      return [name, groups.find((g) => g.includes(rank))!.indexOf(rank)] as const;
    });
    return Object.fromEntries(places);
  });
}

function axesFromGroups(matched: MatchedCollectives): GroupAxis[] {
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
  return [...bySize]
    .filter(([, groups]) => isPartition(groups, all))
    .slice(0, MOST_AXES)
    .map(([key, groups]) => ({ name: axisName(key), groups }));
}

/** torch calls the groups of an axis `mesh_<axis>`. */
function axisName(key: string): string {
  const [, stride, ...description] = key.split(' ');
  const name = description.join(' ').trim();
  return name.replace(/^mesh_(?=.)/, '') || `stride${stride}`;
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

/**
 * Axes that process groups form and the coordinates of ranks do not: a group along one or more axes holds all ranks that
 * share the places on the others. Empty where nothing contradicts.
 */
export function axesOutsideMesh(
  matched: MatchedCollectives,
  coordinatesOf: (rank: number) => Coordinates | null,
): string[] {
  const places = new Map(matched.ranks.map((rank) => [rank, coordinatesOf(rank)]));
  if ([...places.values()].includes(null)) return [];
  const isAlongAxes = (group: readonly number[]) => {
    const members = group.filter((r) => places.has(r));
    const first = places.get(members[0]!)!;
    const fixed = Object.keys(first).filter((a) => members.every((r) => places.get(r)![a] === first[a]));
    const sharing = matched.ranks.filter((r) => fixed.every((a) => places.get(r)![a] === first[a]));
    return sharing.length === members.length;
  };
  return axesFromGroups(matched)
    .filter(({ groups }) => !groups.filter((g) => g.some((r) => places.has(r))).every(isAlongAxes))
    .map(({ name }) => name);
}
