import { type Problem, ProblemLog } from '../../base/problem.js';
import { manifestOf, traceFactsOf, traceSummaryOf } from '../../ingest/member.js';
import type { RankedMember } from '../../ingest/ranks.js';
import type { RunInputs } from '../../ingest/read-run.js';
import { axesOutsideMesh } from '../../run/collectives/mesh.js';
import type { ComparedRank, Comparison } from '../../run/compare.js';
import { withSlowGpus } from '../../run/lateness/late-gpus.js';
import { type CaptureInfo, joinManifests } from '../../run/placement/join-manifests.js';
import { placeGpus } from '../../run/placement/place-gpus.js';
import { type LocatedRank, placeRanks, type RankSeen } from '../../run/placement/place-ranks.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import type { RankView } from './rank-view.js';

/** What manifests, telemetry and names of files say about where ranks ran. */
export interface RunLocations {
  readonly ranks: ReadonlyMap<number, LocatedRank>;
  /** By rank; ranks whose GPU is not in any telemetry are missing. */
  readonly gpus: ReadonlyMap<number, GpuState>;
  readonly worldSize: number | null;
  readonly problems: readonly Problem[];
}

/** Of all ranks of the run, also those that were not asked for: a GPU is told by which ones the others have. */
export function locateRanks(run: RunInputs): RunLocations {
  const problems = new ProblemLog();
  const capture = joinManifests(manifestsOf(run), problems);
  const ranks = placeRanks(seenRanks(run.members, capture), capture, problems);
  const logs = run.beside.flatMap((m) =>
    m.kind === 'dmon' ? [{ path: m.path, host: m.hints.host, gpus: m.gpus }] : [],
  );
  const { gpus, unplaced } = placeGpus([...ranks.values()], logs);
  problems.addNamed(
    'telemetry-unplaced',
    unplaced.map((path) => `nothing says which machine ${path} is of`),
    'it is not used; name it dmon-<host>.txt',
  );
  const worlds = [...ranks.values()].map((r) => r.worldSize ?? 0);
  return { ranks, gpus, worldSize: Math.max(0, ...worlds) || null, problems: problems.list() };
}

/** Of the files that belong to no rank. */
export function runFileProblems(run: Pick<RunInputs, 'beside'>): readonly Problem[] {
  const problems = new ProblemLog();
  for (const member of run.beside) problems.addAll(member.problems);
  return problems.list();
}

export function manifestsOf(run: Pick<RunInputs, 'beside'>) {
  return run.beside.flatMap((member) => {
    const manifest = manifestOf(member);
    return manifest ? [{ path: member.path, namedRank: member.hints.rank, manifest }] : [];
  });
}

function seenRanks(members: readonly RankedMember[], capture: CaptureInfo): RankSeen[] {
  const byRank = new Map<number, RankSeen>();
  const none = { host: null, worldSize: null, coordinatesInName: null, device: null };
  for (const rank of capture.ranks.keys()) byRank.set(rank, { rank, ...none });
  // What the first file says counts; traces go before logs, of which only the name says anything.
  const inOrder = members.toSorted(
    (a, b) => Number(b.member.kind === 'kineto') - Number(a.member.kind === 'kineto'),
  );
  for (const { member, rank } of inOrder) {
    if (member.kind === 'operations') continue;
    const known = byRank.get(rank) ?? { rank, ...none };
    const summary = traceSummaryOf(member);
    byRank.set(rank, {
      rank,
      host: known.host ?? summary?.hostName ?? member.hints.host,
      worldSize: known.worldSize ?? summary?.distributed?.worldSize ?? null,
      coordinatesInName: known.coordinatesInName ?? member.hints.coordinates,
      device: known.device ?? traceFactsOf(member)?.device ?? null,
    });
  }
  return [...byRank.values()].sort((a, b) => a.rank - b.rank);
}

export function comparedRank(view: RankView, locations: RunLocations): ComparedRank {
  const { rank, facts } = view;
  const location = locations.ranks.get(rank);
  return { rank, facts, host: location?.host ?? null, coordinates: location?.coordinates ?? null };
}

/** Late ranks with what telemetry says of their GPUs. */
export function withTelemetry(comparison: Comparison | null, locations: RunLocations): Comparison | null {
  return comparison && { ...comparison, late: withSlowGpus(comparison.late, locations.gpus) };
}

/** Process groups that do not lie along the axes that files name. */
export function meshProblems(comparison: Comparison | null, locations: RunLocations): readonly Problem[] {
  if (!comparison) return [];
  const outside = axesOutsideMesh(
    comparison.matched,
    (rank) => locations.ranks.get(rank)?.coordinates ?? null,
  );
  const problems = new ProblemLog();
  problems.addNamed(
    'groups-outside-mesh',
    outside.map((axis) => `process groups of ${axis} lie along no axis of the mesh`),
    'places are named by the mesh',
  );
  return problems.list();
}
