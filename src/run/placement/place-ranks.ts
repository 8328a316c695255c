import type { ProblemLog } from '../../base/problem.js';
import { formatRanks } from '../../base/rank-ranges.js';
import type { MeshAxis } from '../../model/manifest.js';
import type { GpuIdentity } from '../../model/telemetry.js';
import type { RankClock } from '../collectives/clocks.js';
import type { Coordinates } from '../table/build-table.js';
import type { CaptureInfo } from './join-manifests.js';
import { hostKey, type RankLocation } from './place-gpus.js';

/** What the files of a rank say about it, without its manifest. */
export interface RankSeen {
  readonly rank: number;
  /** From its trace, or from the name of a file. */
  readonly host: string | null;
  readonly worldSize: number | null;
  readonly coordinatesInName: readonly number[] | null;
  /** The device that its trace has work on. */
  readonly device: { readonly id: number; readonly name: string } | null;
}

export interface LocatedRank extends RankLocation {
  readonly coordinates: Coordinates | null;
  readonly worldSize: number | null;
}

/** Where each rank ran. Its manifest is believed before its other files; contradictions become a problem. */
export function placeRanks(
  seen: readonly RankSeen[],
  capture: CaptureInfo,
  problems: ProblemLog,
): ReadonlyMap<number, LocatedRank> {
  const conflicts: string[] = [];
  const coordinates = findCoordinates(seen, capture, conflicts);
  const located = seen.map((s): LocatedRank => {
    const manifest = capture.ranks.get(s.rank);
    if (manifest?.host && s.host && hostKey(manifest.host) !== hostKey(s.host))
      conflicts.push(`rank ${s.rank} ran on ${manifest.host}, its trace says ${s.host}`);
    if (capture.worldSize !== null && s.worldSize !== null && capture.worldSize !== s.worldSize)
      conflicts.push(
        `the job has ${capture.worldSize} ranks, the trace of rank ${s.rank} says ${s.worldSize}`,
      );
    return {
      rank: s.rank,
      host: manifest?.host ?? s.host,
      localRank: manifest?.localRank ?? null,
      device: manifest?.device ?? fromTrace(s.device),
      coordinates: coordinates.get(s.rank) ?? null,
      worldSize: capture.worldSize ?? s.worldSize,
    };
  });
  problems.addNamed('place-conflict', conflicts, 'the manifest is believed');
  return new Map(located.map((l) => [l.rank, l]));
}

const fromTrace = (device: RankSeen['device']): GpuIdentity | null =>
  device && { index: device.id, name: device.name, uuid: null, pci: null };

interface NamedRank {
  readonly rank: number;
  /** Coordinates in the name of its file, which does not name the axes. */
  readonly coordinatesInName: readonly number[] | null;
}

/**
 * Coordinates of each rank: from its manifest; else from its file name, with the axis names of the run; else from the usual
 * order, where all known ranks follow it. Null: unknown. Contradictions are added to `conflicts`.
 */
function findCoordinates(
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

/** Ranks of one machine share its clock. Four ranks of one machine were up to 0.12 ms apart (gloo, six real runs). */
const LEAST_GAP_NS = 500_000;
/** Clocks of two machines must differ by this many times the error of either, and what ranks of one machine differ by. */
const TIMES_THE_ERROR = 3;
const TIMES_THE_SPREAD = 5;
const LEAST_RANKS = 2;

/**
 * Which ranks run on one machine, from their clocks, where nothing else says so. One name for each rank, or null for all:
 * clocks are all alike (one machine, or several that are well synchronized), or groups are no machines. Launchers give each
 * machine as many ranks as the others, and consecutive ones.
 */
export function hostsByClock(clocks: readonly RankClock[]): readonly string[] | null {
  if (clocks.length < 2 * LEAST_RANKS || clocks.some((c) => c.component !== 0)) return null;
  const groups = splitAtGaps(clocks.toSorted((a, b) => a.offset - b.offset));
  if (groups.length < 2) return null;
  const size = groups[0]!.length;
  if (size < LEAST_RANKS || groups.some((g) => g.length !== size)) return null;
  const byRank = clocks.toSorted((a, b) => a.rank - b.rank);
  const positionOf = new Map(byRank.map((c, i) => [c, i]));
  const areConsecutive = groups.every((group) => {
    const blocks = group.map((c) => Math.floor(positionOf.get(c)! / size));
    return blocks.every((block) => block === blocks[0]);
  });
  if (!areConsecutive) return null;
  return clocks.map((clock) => {
    const group = groups.find((g) => g.includes(clock))!;
    return `the host with ranks ${formatRanks(group.map((c) => c.rank).sort((a, b) => a - b))}`;
  });
}

/** `sorted`: by offset. One group where no gap is wide enough, or where the clocks within groups differ too. */
function splitAtGaps(sorted: readonly RankClock[]): readonly (readonly RankClock[])[] {
  const error = sorted.reduce((most, c) => Math.max(most, c.error), 0);
  const least = Math.max(LEAST_GAP_NS, TIMES_THE_ERROR * error);
  const groups: RankClock[][] = [[sorted[0]!]];
  let narrowest = Number.POSITIVE_INFINITY;
  for (let i = 1; i < sorted.length; i++) {
    const gap = sorted[i]!.offset - sorted[i - 1]!.offset;
    if (gap < least) groups.at(-1)!.push(sorted[i]!);
    else {
      groups.push([sorted[i]!]);
      narrowest = Math.min(narrowest, gap);
    }
  }
  const spread = groups.reduce((most, g) => Math.max(most, g.at(-1)!.offset - g[0]!.offset), 0);
  return narrowest >= TIMES_THE_SPREAD * spread ? groups : [sorted];
}
