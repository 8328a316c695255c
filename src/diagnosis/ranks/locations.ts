import { type Problem, ProblemLog } from '../../base/problem.js';
import { largest } from '../../base/statistics.js';
import { isTraceInput, manifestOf, type RunInput, traceFactsOf, traceSummaryOf } from '../../ingest/input.js';
import type { RankedInput } from '../../ingest/ranks.js';
import type { RunInputs } from '../../ingest/read-run.js';
import { axesOutsideMesh } from '../../run/collectives/mesh.js';
import type { ComparedRank, Comparison } from '../../run/compare.js';
import { type CaptureInfo, joinManifests } from '../../run/placement/join-manifests.js';
import { placeGpus } from '../../run/placement/place-gpus.js';
import { type LocatedRank, placeRanks, type RankSeen } from '../../run/placement/place-ranks.js';
import type { GpuState } from '../../telemetry/gpu-state.js';
import type { RankView } from './rank-view.js';

/** Where each rank ran, from manifests, telemetry and file names. */
export interface RunLocations {
  readonly ranks: ReadonlyMap<number, LocatedRank>;
  /** By rank, as far as telemetry covers its GPU. */
  readonly gpus: ReadonlyMap<number, GpuState>;
  /** Manifests of the run, by rank. */
  readonly manifests: CaptureInfo['ranks'];
  readonly worldSize: number | null;
  readonly problems: readonly Problem[];
}

/** Locates all ranks of the run, not only the selected ones: which GPU a rank has follows from those that others have. */
export function locateRanks(run: RunInputs): RunLocations {
  const problems = new ProblemLog();
  const capture = joinManifests(manifestsOf(run), problems);
  const ranks = placeRanks(seenRanks(run.members, capture), capture, problems);
  const logs = run.beside.flatMap((m) =>
    m.evidence.gpus ? [{ path: m.path, host: hostOf(m), gpus: m.evidence.gpus }] : [],
  );
  const { gpus, unplaced } = placeGpus([...ranks.values()], logs);
  problems.addNamed(
    'telemetry-unplaced',
    unplaced.map((path) => `it is not known which machine ${path} comes from`),
    'it is not used; rename it to dmon-<host>.txt',
  );
  const worlds = [...ranks.values()].map((r) => r.worldSize ?? 0);
  return {
    ranks,
    gpus,
    manifests: capture.ranks,
    worldSize: Math.max(0, largest(worlds)) || null,
    problems: problems.list(),
  };
}

const hostOf = ({ evidence, hints }: RunInput): string | null =>
  evidence.activity?.machine.host || hints.host;

/** Problems of the files that belong to no rank. */
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

function seenRanks(members: readonly RankedInput[], capture: CaptureInfo): RankSeen[] {
  const byRank = new Map<number, RankSeen>();
  const none = { host: null, worldSize: null, coordinatesInName: null, device: null };
  for (const rank of capture.ranks.keys()) byRank.set(rank, { rank, ...none });
  // The first file that says something counts. Traces come first: of a log only the file name helps.
  const inOrder = members.toSorted((a, b) => Number(isTraceInput(b)) - Number(isTraceInput(a)));
  for (const member of inOrder) {
    const { rank } = member;
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

/** Process groups that do not follow any axis of the mesh that the files name. */
export function meshProblems(comparison: Comparison | null, locations: RunLocations): readonly Problem[] {
  if (!comparison) return [];
  const outside = axesOutsideMesh(
    comparison.matched,
    (rank) => locations.ranks.get(rank)?.coordinates ?? null,
  );
  const problems = new ProblemLog();
  problems.addNamed(
    'groups-outside-mesh',
    outside.map((axis) => `process groups of ${axis} follow no axis of the mesh`),
    'coordinates are those of the mesh',
  );
  return problems.list();
}
