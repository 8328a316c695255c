import type { MeshAxis } from '../../model/manifest.js';
import type { Coordinates } from '../table/rank-table.js';
import type { CaptureInfo } from './join-manifests.js';

interface NamedRank {
  readonly rank: number;
  /** Coordinates in the name of its file, which does not name the axes. */
  readonly coordinatesInName: readonly number[] | null;
}

/**
 * Coordinates of each rank: from its manifest; else from its file name, with the axis names of the run; else from the usual
 * order, where all known ranks follow it. Null: unknown. Contradictions are added to `conflicts`.
 */
export function findCoordinates(
  ranks: readonly NamedRank[],
  capture: CaptureInfo,
  conflicts: string[],
): Map<number, Coordinates | null> {
  const { mesh } = capture;
  const found = new Map(
    ranks.map(({ rank, coordinatesInName: inName }) => {
      const declared = capture.ranks.get(rank)?.coordinates ?? null;
      const own = declared && inAxisOrder(declared, mesh, rank, conflicts);
      if (own && inName && mesh?.length === inName.length && Object.values(own).join() !== inName.join())
        conflicts.push(
          `rank ${rank} is at ${Object.values(own).join('-')}, its file is named ${inName.join('-')}`,
        );
      return [rank, own ?? (inName && fromName(inName, mesh, rank, capture))] as const;
    }),
  );
  return mesh ? withUsualOrder(found, mesh) : found;
}

function inAxisOrder(
  declared: Coordinates,
  mesh: readonly MeshAxis[] | null,
  rank: number,
  conflicts: string[],
): Coordinates {
  if (!mesh) return declared;
  const fits =
    Object.keys(declared).length === mesh.length && mesh.every((a) => (declared[a.name] ?? a.size) < a.size);
  if (fits) return Object.fromEntries(mesh.map((a) => [a.name, declared[a.name]!]));
  const text = Object.entries(declared).map(([axis, c]) => `${axis} ${c}`);
  conflicts.push(`rank ${rank} is at ${text.join(', ')}, which is not in the mesh of the run`);
  return declared;
}

function fromName(
  inName: readonly number[],
  mesh: readonly MeshAxis[] | null,
  rank: number,
  capture: CaptureInfo,
): Coordinates | null {
  if (mesh?.length === inName.length) return Object.fromEntries(mesh.map((a, i) => [a.name, inName[i]!]));
  // Files of a job without a mesh are named by rank, which is no coordinate.
  if (!mesh && capture.ranks.size > 0 && inName.length === 1 && inName[0] === rank) return null;
  return Object.fromEntries(inName.map((c, i) => [`axis${i}`, c]));
}

/** Fills in unknown coordinates in torch's order, in which the last axis counts fastest, if all known ones follow it. */
function withUsualOrder(
  found: Map<number, Coordinates | null>,
  mesh: readonly MeshAxis[],
): Map<number, Coordinates | null> {
  const known = [...found].filter(([, c]) => c !== null);
  if (known.length === 0 || known.length === found.size) return found;
  const usual = (rank: number) => {
    let rest = rank;
    const counted = mesh.toReversed().map(({ name, size }) => {
      const coordinate = rest % size;
      rest = Math.floor(rest / size);
      return [name, coordinate] as const;
    });
    return rest === 0 ? (Object.fromEntries(counted.reverse()) as Coordinates) : null;
  };
  const isUsual = known.every(([rank, c]) => JSON.stringify(usual(rank)) === JSON.stringify(c));
  return isUsual ? new Map([...found].map(([rank, c]) => [rank, c ?? usual(rank)])) : found;
}
