import { InputError } from '../base/input-error.js';
import { ProblemLog } from '../base/problem.js';
import { formatRanks } from '../base/rank-ranges.js';
import type { StepRange } from '../facts/step-facts.js';
import type { RankedInput } from '../ingest/ranks.js';
import type { RunInputs } from '../ingest/read-run.js';
import { roleOf } from '../logs/phases.js';
import type { Comparison } from '../run/compare.js';
import { type OwnPhases, withLatePhases, withSlowGpus } from '../run/lateness/late-ranks.js';
import { criticalView, lateComputingOf, withPace, withWaiting } from './across-ranks.js';
import { type RunHealth, runHealth } from './health/run-health.js';
import { type JobWords, jobWords } from './job-words.js';
import { type ComparedViews, compareViews } from './ranks/compare-views.js';
import { locateRanks, type RunLocations } from './ranks/locations.js';
import { activityByRank } from './ranks/rank-activity.js';
import type { RankView } from './ranks/rank-view.js';
import { type Unrecorded, unrecordedRanks, viewsOf } from './ranks/views.js';
import { type RunEvidence, runEvidence } from './run-evidence.js';

/** Which part of the run to analyze. Null: all of it. */
export interface Selection {
  readonly steps: StepRange | null;
  readonly ranks: readonly number[] | null;
}

/** What is known about a run before anything is concluded from it. */
export interface Observed {
  readonly inputs: RunInputs;
  /** The files of the selected ranks. */
  readonly members: readonly RankedInput[];
  /** The selected ranks, with waiting separated from transfer. */
  readonly views: readonly RankView[];
  /** Null: fewer than two ranks share a collective. */
  readonly comparison: Comparison | null;
  /** The rank with most of the critical path, with the time of the whole path. Null: ranks were not compared. */
  readonly critical: RankView | null;
  /** Share of the step in which all ranks wait for one that computes longer than the others. */
  readonly lateComputing: number;
  /** Null: all ranks of the job were recorded, or nothing shows who they are. */
  readonly unrecorded: Unrecorded | null;
  readonly locations: RunLocations;
  readonly health: RunHealth;
  readonly evidence: RunEvidence;
  readonly job: JobWords;
}

/**
 * Analyzes what was read from a run. `known`: how all its ranks compare, if that was computed before. Throws InputError when
 * the selection leaves nothing.
 */
export function observe(
  inputs: RunInputs,
  { steps, ranks }: Selection,
  known: ComparedViews | null = null,
): Observed {
  const members = ranks === null ? inputs.members : selectRanks(inputs.members, ranks);
  const failures = new ProblemLog();
  const recorded = viewsOf(members, steps, failures);
  if (recorded.length === 0 && steps !== null)
    throw new InputError(
      'none of the selected steps was recorded; `whyslow inspect` lists the recorded steps',
    );
  const locations = locateRanks(inputs);
  const compared = known && ranks === null ? { ...known, from: recorded } : compareViews(recorded, locations);
  const comparison = withReasons(compared, locations);
  const critical = criticalView(comparison, compared.from, recorded);
  const activity = activityByRank(
    inputs,
    locations.manifests,
    recorded.map((view) => view.rank),
  );
  return {
    inputs,
    members,
    views: recorded.map((view) => withPace(withWaiting(view, comparison), comparison)),
    comparison,
    critical: critical && withPace(critical, comparison),
    lateComputing: lateComputingOf(comparison),
    unrecorded: unrecordedRanks(
      recorded.flatMap((view) => view.facts.collectives?.groups ?? []),
      ranksWithSteps(inputs.members, members, recorded),
    ),
    locations,
    health: runHealth({
      inputs: { ...inputs, problems: [...inputs.problems, ...failures.list()] },
      members,
      views: recorded,
      locations,
      comparison,
    }),
    evidence: runEvidence(inputs, activity),
    job: jobWords({ ...inputs, members }),
  };
}

function selectRanks(members: readonly RankedInput[], ranks: readonly number[]): readonly RankedInput[] {
  const wanted = new Set(ranks);
  const selected = members.filter((m) => wanted.has(m.rank));
  if (selected.length > 0) return selected;
  const captured = formatRanks([...new Set(members.map((m) => m.rank))]);
  throw new InputError(`none of the selected ranks was captured; captured ranks: ${captured}`);
}

/** Ranks that count as recorded: those with a usable step, and ranks that were not selected if they have any file. */
function ranksWithSteps(
  all: readonly RankedInput[],
  asked: readonly RankedInput[],
  views: readonly RankView[],
): ReadonlySet<number> {
  const [analyzed, used] = [new Set(asked.map((m) => m.rank)), new Set(views.map((v) => v.rank))];
  return new Set(all.map((m) => m.rank).filter((rank) => used.has(rank) || !analyzed.has(rank)));
}

/** Adds what telemetry says about the GPUs of late ranks, and event logs about their phases. */
function withReasons({ comparison, from }: ComparedViews, locations: RunLocations): Comparison | null {
  if (!comparison) return null;
  const late = withSlowGpus(comparison.late, locations.gpus);
  return {
    ...comparison,
    late: withLatePhases(late, new Map(from.map((view) => [view.rank, ownPhases(view)]))),
  };
}

function ownPhases(view: RankView): OwnPhases {
  const log = view.source === 'log' ? view : view.log;
  const named = log?.facts.named.filter(({ name }) => roleOf(name) === 'own') ?? [];
  return new Map(named.map(({ name, ns }) => [name, ns]));
}
