import { InputError } from '../base/input-error.js';
import { ProblemLog } from '../base/problem.js';
import { formatRanks } from '../base/rank-ranges.js';
import { quoted } from '../base/shell.js';
import type { StepRange } from '../facts/step-facts.js';
import type { RankedInput } from '../ingest/ranks.js';
import type { RunInputs } from '../ingest/read-run.js';
import type { Comparison } from '../run/compare.js';
import {
  acrossOf,
  criticalView,
  lateComputingOf,
  withPace,
  withStragglers,
  withWaiting,
} from './across-ranks.js';
import { hangVerdict } from './hang/hang-verdict.js';
import { type RunHealth, runHealth } from './health/run-health.js';
import { jobWords } from './job-words.js';
import { type ComparedViews, compareViews } from './ranks/compare-views.js';
import { hostLines } from './ranks/host-lines.js';
import { withReasons } from './ranks/late-reasons.js';
import { locateRanks, type RunLocations } from './ranks/locations.js';
import { activityByRank, capturedRanks } from './ranks/rank-activity.js';
import type { RankView } from './ranks/rank-view.js';
import { unrecordedRanks } from './ranks/unrecorded-ranks.js';
import { viewsOf } from './ranks/views.js';
import { runEvidence } from './run-evidence.js';
import type { RunFacts } from './run-facts.js';
import { compileLogVerdict } from './verdict/compile-log-verdict.js';
import { decide } from './verdict/decide.js';
import { jobViewOf, withJobPhase } from './verdict/job-phase.js';
import { judge } from './verdict/judge.js';
import { captureNext, verdictSentence } from './verdict/sentence.js';
import { telemetryVerdict } from './verdict/telemetry-verdict.js';
import type { Verdict } from './verdict/verdict.js';

/** Which part of the run to analyze. Null: all of it. */
export interface Selection {
  readonly steps: StepRange | null;
  readonly ranks: readonly number[] | null;
}

/** What is known about a run before the rules run. Rules read `facts`; the report is built from the rest. */
export interface Diagnosis {
  readonly inputs: RunInputs;
  /** The files of the selected ranks. */
  readonly members: readonly RankedInput[];
  /** The selected ranks, with waiting separated from transfer. */
  readonly views: readonly RankView[];
  /** Null: fewer than two ranks share a collective. */
  readonly comparison: Comparison | null;
  readonly locations: RunLocations;
  readonly verdict: Verdict;
  /** The view that the verdict is taken from. Null: nothing could be analyzed. */
  readonly decisive: RankView | null;
  /** The rank whose wall time is shown. Null: no log has it. */
  readonly jobView: RankView | null;
  readonly health: RunHealth;
  readonly facts: RunFacts;
}

/**
 * Analyzes what was read from a run. `known`: how all its ranks compare, if that was computed before. Throws InputError when
 * the selection leaves nothing.
 */
export function diagnoseInputs(
  inputs: RunInputs,
  { steps, ranks }: Selection,
  known: ComparedViews | null = null,
): Diagnosis {
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
  const views = recorded.map((view) => withPace(withWaiting(view, comparison), comparison));
  const health = runHealth({
    inputs: { ...inputs, problems: [...inputs.problems, ...failures.list()] },
    members,
    views: recorded,
    locations,
    comparison,
  });
  const critical = criticalView(comparison, compared.from, recorded);
  const lateComputing = lateComputingOf(comparison);
  const judged = (critical ? [withPace(critical, comparison)] : views).map((view) => ({
    view,
    verdict: judge(view, lateComputing),
  }));
  const jobView = jobViewOf(views);
  const unrecorded = unrecordedRanks(
    recorded.flatMap((view) => view.facts.collectives?.groups ?? []),
    ranksWithSteps(inputs.members, members, recorded),
  );
  const decided = withStragglers(decide(judged, health.severe), comparison, unrecorded);
  const decision = withJobPhase(decided, jobView);
  const { bottleneck, confidence, cause, second } = decision;
  const next = bottleneck === 'unknown' ? [...judgeSamples(inputs), ...captureNext(decision)] : [];
  const verdict = { bottleneck, cause, confidence, sentence: verdictSentence(decision), second, next };
  const activity = activityByRank(
    inputs,
    locations.manifests,
    recorded.map((view) => view.rank),
  );
  const evidence = runEvidence(inputs, activity);
  const words = jobWords({ ...inputs, members });
  return {
    inputs,
    members,
    views,
    comparison,
    locations,
    // Without traces and event logs, dumps of a job that hangs give the verdict, or other logs.
    verdict:
      (recorded.length === 0 &&
        (hangVerdict(evidence, words.processes) ??
          telemetryVerdict(inputs) ??
          compileLogVerdict(evidence))) ||
      verdict,
    decisive: decision.view,
    jobView,
    health,
    facts: {
      ranks: views,
      verdict: { bottleneck, confidence, cause },
      across: acrossOf(comparison, locations.ranks),
      gpus: locations.gpus,
      hostLines: hostLines(inputs, decision.view?.rank ?? null),
      captured: capturedRanks(locations.manifests, activity),
      job: words,
      evidence,
    },
  };
}

/** Without a step, samples of /proc still tell what limits the job, roughly. */
const judgeSamples = ({ members, beside }: RunInputs): readonly string[] =>
  members.length > 0
    ? []
    : beside
        .filter((m) => m.evidence.activity !== undefined)
        .slice(0, 1)
        .map((m) => `judge the samples of /proc: whyslow triage --replay ${quoted(m.path)}`);

function selectRanks(members: readonly RankedInput[], ranks: readonly number[]): readonly RankedInput[] {
  const wanted = new Set(ranks);
  const selected = members.filter((m) => wanted.has(m.rank));
  if (selected.length > 0) return selected;
  const captured = formatRanks([...new Set(members.map((m) => m.rank))]);
  throw new InputError(`none of the selected ranks was captured; captured ranks: ${captured}`);
}

/** A file of which no step could be used tells no more about its rank than none. Of ranks that were not asked for, files count. */
function ranksWithSteps(
  all: readonly RankedInput[],
  asked: readonly RankedInput[],
  views: readonly RankView[],
): ReadonlySet<number> {
  const [analyzed, used] = [new Set(asked.map((m) => m.rank)), new Set(views.map((v) => v.rank))];
  return new Set(all.map((m) => m.rank).filter((rank) => used.has(rank) || !analyzed.has(rank)));
}
