import { groupBy } from '../../base/group-by.js';
import type { Coordinates } from '../table/build-table.js';
import type { MatchedCollectives } from './matched.js';

/** An axis needs two coordinates, and two ranks at each. */
const LEAST_SIZE = 2;
/** Meshes have up to four axes; further groups are subsets or unions of theirs. */
const MAX_AXES = 4;

/** Groups of one size that share no rank and together hold all ranks follow an axis. */
interface GroupAxis {
  readonly name: string;
  readonly groups: readonly (readonly number[])[];
}

/** Mesh coordinates from process groups: a rank's coordinate is its index in its group. Null: groups form no axis. */
export function coordinatesFromGroups(matched: MatchedCollectives): (Coordinates | null)[] {
  const axes = axesFromGroups(matched);
  if (axes.length === 0) return matched.ranks.map(() => null);
  const positions = axes.map(({ name, groups }) => ({
    name,
    of: new Map(groups.flatMap((group) => group.map((rank, i) => [rank, i] as const))),
  }));
  return matched.ranks.map((rank) =>
    Object.fromEntries(positions.map(({ name, of }) => [name, of.get(rank)!])),
  );
}

function axesFromGroups({ ranks: all, groups }: MatchedCollectives): GroupAxis[] {
  const candidates = groups.flatMap(({ ranks, description }) =>
    ranks && ranks.length >= LEAST_SIZE && ranks.length < all.length ? [{ ranks, description }] : [],
  );
  const byMembers = groupBy(candidates, ({ ranks }) => ranks.join());
  const distinct = [...byMembers.values()].map(([first]) => first!);
  const alike = groupBy(distinct, ({ ranks, description }) => {
    const stride = ranks[1]! - ranks[0]!;
    return `${ranks.length} ${stride} ${description.replace(/\d+/g, '')}`;
  });
  return [...alike]
    .map(([key, members]) => ({ name: axisName(key), groups: members.map((g) => g.ranks) }))
    .filter((axis) => isPartition(axis.groups, all))
    .slice(0, MAX_AXES);
}

/** torch calls the groups of an axis `mesh_<axis>`. */
function axisName(key: string): string {
  const [, stride, ...description] = key.split(' ');
  const name = description.join(' ').trim();
  return name.replace(/^mesh_(?=.)/, '') || `stride${stride}`;
}

/** Whether every captured rank is in exactly one of the groups. They may also hold ranks that were not captured. */
function isPartition(groups: readonly (readonly number[])[], all: readonly number[]): boolean {
  const members = groups.flat();
  const distinct = new Set(members);
  return groups.length >= LEAST_SIZE && distinct.size === members.length && all.every((r) => distinct.has(r));
}

/**
 * Names of the axes that process groups form and the given coordinates do not. A group along one axis or several holds all
 * ranks that agree on the other axes. Empty: nothing contradicts, or some rank has no coordinates.
 */
export function axesOutsideMesh(
  matched: MatchedCollectives,
  coordinatesOf: (rank: number) => Coordinates | null,
): string[] {
  const known = new Map(matched.ranks.map((rank) => [rank, coordinatesOf(rank)]));
  if ([...known.values()].includes(null)) return [];
  const isAlongAxes = (group: readonly number[]) => {
    const members = group.filter((r) => known.has(r));
    const first = known.get(members[0]!)!;
    const fixed = Object.keys(first).filter((a) => members.every((r) => known.get(r)![a] === first[a]));
    const sharing = matched.ranks.filter((r) => fixed.every((a) => known.get(r)![a] === first[a]));
    return sharing.length === members.length;
  };
  return axesFromGroups(matched)
    .filter(({ groups }) => !groups.filter((g) => g.some((r) => known.has(r))).every(isAlongAxes))
    .map(({ name }) => name);
}
