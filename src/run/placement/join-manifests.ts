import type { ProblemLog } from '../../base/problem.js';
import { formatCount } from '../../base/units.js';
import type { Manifest, MeshAxis, RankManifest, RunManifest } from '../../model/manifest.js';

export interface ReadManifest {
  readonly path: string;
  /** The rank in the file's name. */
  readonly namedRank: number | null;
  readonly manifest: Manifest;
}

/** What the manifests of one run say together. */
export interface CaptureInfo {
  readonly worldSize: number | null;
  readonly mesh: readonly MeshAxis[] | null;
  readonly ranks: ReadonlyMap<number, RankManifest>;
}

/** Bounds the size of a mesh in a damaged manifest; no job is as large. */
const MAX_RANKS = 1 << 24;
/** Reasons named in one message. */
const MAX_REASONS = 5;

export function joinManifests(manifests: readonly ReadManifest[], problems: ProblemLog): CaptureInfo {
  const conflicts: string[] = [];
  const runs = manifests.map((m) => m.manifest).filter((m): m is RunManifest => m.of === 'run');
  // Several files of one run repeat each other: the last value counts.
  const worldSize = runs.findLast((r) => r.worldSize !== null)?.worldSize ?? null;
  const mesh = runs.findLast((r) => r.mesh !== null)?.mesh ?? null;
  if (mesh && worldSize !== null) checkSize(mesh, worldSize, conflicts);
  const ranks = joinRanks(manifests, conflicts);
  const beyond = [...ranks.keys()].find((rank) => worldSize !== null && rank >= worldSize);
  if (beyond !== undefined) conflicts.push(`there is a rank ${beyond} in a job of ${worldSize}`);
  problems.addNamed('manifest-conflict', conflicts, 'the manifest that was read last is believed');
  addDropped(ranks, problems);
  return { worldSize, mesh, ranks };
}

function checkSize(mesh: readonly MeshAxis[], worldSize: number, conflicts: string[]): void {
  const size = mesh.reduce((n, axis) => Math.min(MAX_RANKS, n * axis.size), 1);
  if (size === worldSize) return;
  const text = mesh.map((a) => `${a.name} ${a.size}`).join(' × ');
  conflicts.push(`a mesh of ${text} has room for ${size} ranks, the job has ${worldSize}`);
}

function joinRanks(manifests: readonly ReadManifest[], conflicts: string[]): Map<number, RankManifest> {
  const ranks = new Map<number, RankManifest>();
  for (const { manifest, namedRank, path } of manifests) {
    if (manifest.of !== 'rank') continue;
    const rank = manifest.rank ?? namedRank;
    if (rank === null) continue;
    if (namedRank !== null && namedRank !== rank)
      conflicts.push(`${path} is of rank ${rank}, its name says ${namedRank}`);
    if (ranks.has(rank)) conflicts.push(`rank ${rank} has two manifests, e.g. ${path}`);
    ranks.set(rank, { ...manifest, rank });
  }
  return ranks;
}

/** What users can do something about. */
const IN_WORDS: ReadonlyMap<string, string> = new Map([
  ['trace_rival', 'no window while the job’s own torch.profiler is on'],
]);

/** Reports what capture itself left out. */
function addDropped(ranks: ReadonlyMap<number, RankManifest>, problems: ProblemLog): void {
  const byReason = new Map<string, number>();
  for (const { dropped } of ranks.values())
    for (const [code, n] of Object.entries(dropped)) byReason.set(code, (byReason.get(code) ?? 0) + n);
  const reasons = [...byReason].filter(([, n]) => n > 0);
  const count = reasons.reduce((sum, [, n]) => sum + n, 0);
  const named = reasons.slice(0, MAX_REASONS).map(([code, n]) => `${IN_WORDS.get(code) ?? code} ${n}`);
  const message = `capture left out ${formatCount(count, 'record or file', 'records or files')} (${named.join(', ')})`;
  const consequence = 'what happened then is not known; training was not held up';
  problems.add('capture-dropped', { message, consequence }, null, count);
}
