import type { ProblemLog } from '../../base/problem.js';
import type { GpuIdentity } from '../../model/gpu-identity.js';
import type { Coordinates } from '../table/rank-table.js';
import { findCoordinates } from './coordinates.js';
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
