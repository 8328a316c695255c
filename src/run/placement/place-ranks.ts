import type { ProblemLog } from '../../base/problem.js';
import type { GpuIdentity } from '../../model/gpu-identity.js';
import { type Coordinates, meshPlaces } from './coordinates.js';
import type { CaptureInfo } from './join-manifests.js';
import { hostKey, type RankPlace } from './place-gpus.js';

/** What the files of a rank say by themselves. */
export interface RankSeen {
  readonly rank: number;
  /** In its trace, or in the name of a file. */
  readonly host: string | null;
  readonly worldSize: number | null;
  readonly coordinatesInName: readonly number[] | null;
  /** The device that its trace has work on. */
  readonly device: { readonly id: number; readonly name: string } | null;
}

export interface Placed extends RankPlace {
  readonly coordinates: Coordinates | null;
  readonly worldSize: number | null;
}

/** Where each rank ran. What its manifest says goes before what its other files say; where they differ, that is told. */
export function placeRanks(
  seen: readonly RankSeen[],
  capture: CaptureInfo,
  problems: ProblemLog,
): ReadonlyMap<number, Placed> {
  const conflicts: string[] = [];
  const named = seen.map((s) => ({ rank: s.rank, inName: s.coordinatesInName }));
  const coordinates = meshPlaces(named, capture, conflicts);
  const placed = seen.map((s): Placed => {
    const own = capture.ranks.get(s.rank);
    if (own?.host && s.host && hostKey(own.host) !== hostKey(s.host))
      conflicts.push(`rank ${s.rank} ran on ${own.host}, its trace says ${s.host}`);
    if (capture.worldSize !== null && s.worldSize !== null && capture.worldSize !== s.worldSize)
      conflicts.push(
        `the job has ${capture.worldSize} ranks, the trace of rank ${s.rank} says ${s.worldSize}`,
      );
    return {
      rank: s.rank,
      host: own?.host ?? s.host,
      localRank: own?.localRank ?? null,
      device: own?.device ?? fromTrace(s.device),
      coordinates: coordinates.get(s.rank) ?? null,
      worldSize: capture.worldSize ?? s.worldSize,
    };
  });
  problems.addNamed('place-conflict', conflicts, 'the manifest is believed');
  return new Map(placed.map((p) => [p.rank, p]));
}

const fromTrace = (device: RankSeen['device']): GpuIdentity | null =>
  device && { index: device.id, name: device.name, uuid: null, pci: null };
