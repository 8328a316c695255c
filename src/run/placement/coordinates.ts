import type { MeshAxis } from '../../model/manifest.js';
import type { CaptureInfo } from './join-manifests.js';

/** Place in the mesh by name of the axis, outermost first. */
export type Coordinates = Readonly<Record<string, number>>;

/** A rank and the coordinates in the names of its files, which do not say what the axes are called. */
export interface NamedPlace {
  readonly rank: number;
  readonly inName: readonly number[] | null;
}

/**
 * Places of ranks: as their manifests say; else as their files are named, with the names of the run's axes; else, where
 * all that is known is in the usual order, as that order has it. Null for a rank of which nothing tells.
 */
export function meshPlaces(
  ranks: readonly NamedPlace[],
  capture: CaptureInfo,
  conflicts: string[],
): Map<number, Coordinates | null> {
  const { mesh } = capture;
  const places = new Map(
    ranks.map(({ rank, inName }) => {
      const said = capture.ranks.get(rank)?.coordinates ?? null;
      const own = said && inOrder(said, mesh, rank, conflicts);
      const named = inName && fromName(inName, mesh, rank, capture);
      if (own && inName && mesh?.length === inName.length && Object.values(own).join() !== inName.join())
        conflicts.push(
          `rank ${rank} is at ${Object.values(own).join('-')}, its file is named ${inName.join('-')}`,
        );
      return [rank, own ?? named] as const;
    }),
  );
  return mesh ? filled(places, mesh) : places;
}

function inOrder(
  said: Coordinates,
  mesh: readonly MeshAxis[] | null,
  rank: number,
  conflicts: string[],
): Coordinates {
  if (!mesh) return said;
  const fits =
    Object.keys(said).length === mesh.length && mesh.every((a) => (said[a.name] ?? a.size) < a.size);
  if (fits) return Object.fromEntries(mesh.map((a) => [a.name, said[a.name]!]));
  const drawn = Object.entries(said).map(([axis, c]) => `${axis} ${c}`);
  conflicts.push(`rank ${rank} is at ${drawn.join(', ')}, which is not in the mesh of the run`);
  return said;
}

function fromName(
  inName: readonly number[],
  mesh: readonly MeshAxis[] | null,
  rank: number,
  capture: CaptureInfo,
): Coordinates | null {
  if (mesh?.length === inName.length) return Object.fromEntries(mesh.map((a, i) => [a.name, inName[i]!]));
  // A job without a mesh: its files are named by rank, which is no place.
  if (!mesh && capture.ranks.size > 0 && inName.length === 1 && inName[0] === rank) return null;
  return Object.fromEntries(inName.map((c, i) => [`axis${i}`, c]));
}

/** The last axis counts fastest, as torch lays meshes out; only where nothing that is known contradicts it. */
function filled(
  places: Map<number, Coordinates | null>,
  mesh: readonly MeshAxis[],
): Map<number, Coordinates | null> {
  const known = [...places].filter(([, c]) => c !== null);
  if (known.length === 0 || known.length === places.size) return places;
  const usual = (rank: number) => {
    let rest = rank;
    const counted = mesh.toReversed().map(({ name, size }) => {
      const place = rest % size;
      rest = Math.floor(rest / size);
      return [name, place] as const;
    });
    return rest === 0 ? (Object.fromEntries(counted.reverse()) as Coordinates) : null;
  };
  const isUsual = known.every(([rank, c]) => JSON.stringify(usual(rank)) === JSON.stringify(c));
  return isUsual ? new Map([...places].map(([rank, c]) => [rank, c ?? usual(rank)])) : places;
}
