import type { ProblemLog } from '../../base/problem.js';
import type { Manifest, MeshAxis, RankManifest, RunManifest } from '../../model/manifest.js';

/** A manifest and what its path says. */
export interface ReadManifest {
  readonly path: string;
  /** Rank in the name of the file. */
  readonly namedRank: number | null;
  readonly manifest: Manifest;
}

/** What the manifests of one run say together. */
export interface CaptureInfo {
  readonly worldSize: number | null;
  readonly mesh: readonly MeshAxis[] | null;
  readonly ranks: ReadonlyMap<number, RankManifest>;
}

/** The most ranks a mesh is believed to have. */
const MOST_RANKS = 1 << 24;

export function joinManifests(manifests: readonly ReadManifest[], problems: ProblemLog): CaptureInfo {
  const conflicts: string[] = [];
  const runs = manifests.map((m) => m.manifest).filter((m): m is RunManifest => m.of === 'run');
  // Several files of one run say the same; the last that says something counts.
  const worldSize = runs.findLast((r) => r.worldSize !== null)?.worldSize ?? null;
  const declared = runs.findLast((r) => r.mesh !== null)?.mesh ?? null;
  const mesh = declared && fittingMesh(declared, worldSize, conflicts);
  const ranks = joinRanks(manifests, conflicts);
  const beyond = [...ranks.keys()].filter((rank) => worldSize !== null && rank >= worldSize);
  if (beyond.length > 0) conflicts.push(`there is a rank ${beyond[0]} in a job of ${worldSize}`);
  problems.addNamed('manifest-conflict', conflicts, 'what is certain is used, the rest as the files say');
  noteDropped(ranks, problems);
  return { worldSize, mesh, ranks };
}

function fittingMesh(
  mesh: readonly MeshAxis[],
  worldSize: number | null,
  conflicts: string[],
): readonly MeshAxis[] {
  const size = mesh.reduce((n, axis) => Math.min(MOST_RANKS, n * axis.size), 1);
  if (worldSize !== null && size !== worldSize) {
    const drawn = mesh.map((a) => `${a.name} ${a.size}`).join(' × ');
    conflicts.push(`a mesh of ${drawn} has ${size} places, the job ${worldSize} ranks`);
  }
  return mesh;
}

function joinRanks(manifests: readonly ReadManifest[], conflicts: string[]): Map<number, RankManifest> {
  const ranks = new Map<number, RankManifest>();
  for (const { manifest, namedRank, path } of manifests) {
    if (manifest.of !== 'rank') continue;
    const rank = manifest.rank ?? namedRank;
    if (rank === null) continue;
    if (namedRank !== null && namedRank !== rank)
      conflicts.push(`${path} says rank ${rank} inside and ${namedRank} in its name`);
    if (ranks.has(rank)) conflicts.push(`rank ${rank} has two manifests, e.g. ${path}`);
    ranks.set(rank, { ...manifest, rank });
  }
  return ranks;
}

/** What capture itself left out: some of the run is not in its files. */
function noteDropped(ranks: ReadonlyMap<number, RankManifest>, problems: ProblemLog): void {
  const sums = new Map<string, number>();
  for (const { dropped } of ranks.values())
    for (const [code, n] of Object.entries(dropped)) sums.set(code, (sums.get(code) ?? 0) + n);
  const told = [...sums].filter(([, n]) => n > 0);
  if (told.length === 0) return;
  const count = told.reduce((n, [, c]) => n + c, 0);
  const reasons = told.slice(0, 5).map(([code, n]) => `${code} ${n}`);
  problems.add(
    'capture-dropped',
    {
      message: `capture left out ${count} records or files (${reasons.join(', ')})`,
      consequence: 'what happened then is not known; training was not held up',
    },
    null,
    count,
  );
}
