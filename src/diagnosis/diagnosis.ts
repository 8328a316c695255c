import { InputError } from '../base/input-error.js';
import type { StepRange } from '../facts/step-facts.js';
import type { RankedMember } from '../ingest/ranks.js';
import type { RunInputs } from '../ingest/read-run.js';
import { type Comparison, compareRanks } from '../run/compare.js';
import { acrossOf, criticalView, lateComputingOf, withStragglers, withWaiting } from './across-ranks.js';
import { type RunHealth, runHealth } from './health/run-health.js';
import { comparedRank, locateRanks, type RunLocations, withTelemetry } from './ranks/locations.js';
import type { RankView } from './ranks/rank-view.js';
import { viewsOf } from './ranks/views.js';
import type { RunFacts } from './run-facts.js';
import { decide } from './verdict/decide.js';
import { judge } from './verdict/judge.js';
import { type OperationsAnswer, operationsAnswer, operationsJob } from './verdict/operations-verdict.js';
import { captureNext, verdictSentence } from './verdict/sentence.js';
import type { Verdict } from './verdict/verdict.js';

/** Which part of the run to look at. Null: all of it. */
export interface Selection {
  readonly steps: StepRange | null;
  readonly ranks: readonly number[] | null;
}

/** All that is known of a run before rules are asked: what they look at, and what the report is made from. */
export interface Diagnosis {
  readonly inputs: RunInputs;
  /** The files of the chosen ranks. */
  readonly members: readonly RankedMember[];
  /** Every chosen rank, with its waiting told from its transfers. */
  readonly views: readonly RankView[];
  /** Null: fewer than two ranks that share a collective. */
  readonly comparison: Comparison | null;
  readonly locations: RunLocations;
  readonly verdict: Verdict;
  /** The view the verdict is taken from. Null: nothing could be analysed. */
  readonly decisive: RankView | null;
  /** What a table of operations says of the job. Null: there is none. */
  readonly operations: OperationsAnswer | null;
  readonly health: RunHealth;
  readonly facts: RunFacts;
}

/** Analyses what was read of a run. Throws InputError when the selection leaves nothing. */
export function diagnoseInputs(inputs: RunInputs, { steps, ranks }: Selection): Diagnosis {
  const members = chooseRanks(inputs.members, ranks);
  const recorded = viewsOf(members, steps);
  if (recorded.length === 0 && steps !== null)
    throw new InputError('none of the steps asked for was recorded');
  const locations = locateRanks(inputs);
  const comparison = withTelemetry(compareRanks(recorded.map((v) => comparedRank(v, locations))), locations);
  const views = recorded.map((view) => withWaiting(view, comparison));
  const health = runHealth({ inputs, members, views: recorded, locations, comparison });
  const critical = criticalView(comparison, recorded);
  const lateComputing = lateComputingOf(comparison);
  const judged = (critical ? [critical] : views).map((view) => ({
    view,
    verdict: judge(view, lateComputing),
  }));
  const decision = withStragglers(decide(judged, health.grade), comparison);
  const { bottleneck, confidence, cause, second } = decision;
  const sentence = verdictSentence(decision);
  const next = bottleneck === 'unknown' ? captureNext(decision) : [];
  const job = operationsJob(members.map((m) => m.member));
  const operations = job && operationsAnswer(job);
  const verdict = { bottleneck, cause, confidence, sentence, second, next };
  return {
    inputs,
    members,
    views,
    comparison,
    locations,
    // A table of operations alone: there are no traces to judge, but a job to replay.
    verdict: operations && recorded.length === 0 ? operations.verdict : verdict,
    decisive: decision.view,
    operations,
    health,
    facts: {
      ranks: views,
      verdict: { bottleneck, confidence },
      across: acrossOf(comparison, locations.ranks),
      gpus: locations.gpus,
    },
  };
}

function chooseRanks(
  members: readonly RankedMember[],
  ranks: readonly number[] | null,
): readonly RankedMember[] {
  if (ranks === null) return members;
  const wanted = new Set(ranks);
  const chosen = members.filter((m) => wanted.has(m.rank));
  if (chosen.length > 0) return chosen;
  const there = [...new Set(members.map((m) => m.rank))].sort((a, b) => a - b);
  const listed = `${there.slice(0, 20).join(', ')}${there.length > 20 ? ', …' : ''}`;
  throw new InputError(`none of the ranks asked for was captured; there are ${listed}`);
}
