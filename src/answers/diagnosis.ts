import { acrossOf } from '../diagnosis/across-ranks.js';
import { type Observed, observe, type Selection } from '../diagnosis/observe.js';
import type { ComparedViews } from '../diagnosis/ranks/compare-views.js';
import { hostLines } from '../diagnosis/ranks/host-lines.js';
import { capturedRanks } from '../diagnosis/ranks/rank-activity.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import type { RunFacts } from '../diagnosis/run-facts.js';
import type { RunInputs } from '../ingest/read-run.js';
import type { Maker, Remark, Verdict } from './kit/claim.js';
import { decide } from './kit/decide.js';
import { compileLogAnswer, compilingRemark } from './run/compile-log.js';
import { countersRemark } from './run/counters.js';
import { hangAnswer, stuckAnswer } from './run/hang.js';
import { jobPhaseAnswer, jobViewOf } from './run/job-phase.js';
import { memoryAnswer, outOfMemoryAnswer } from './run/memory.js';
import { paceRemark } from './run/pace.js';
import { programRemark, startUpRemark } from './run/recording.js';
import { lateRanksRemark, oftenLastRemark, unrecordedRanksRemark } from './run/remarks.js';
import { noAnswer, stepsAnswer } from './run/steps.js';
import { telemetryAnswer } from './run/telemetry.js';
import { threadsAnswer } from './run/threads.js';

/** The first that answers decides: what was measured, then what was only seen. */
const MAKERS: readonly Maker<Observed>[] = [
  stuckAnswer,
  outOfMemoryAnswer,
  jobPhaseAnswer,
  threadsAnswer,
  stepsAnswer,
  hangAnswer,
  memoryAnswer,
  telemetryAnswer,
  compileLogAnswer,
  noAnswer,
];

const REMARKS: readonly ((run: Observed) => Remark | null)[] = [
  lateRanksRemark,
  oftenLastRemark,
  unrecordedRanksRemark,
  programRemark,
  startUpRemark,
  compilingRemark,
  paceRemark,
  countersRemark,
];

/** A run and what limits it. Rules read `facts`; the report is built from the rest. */
export interface Diagnosis extends Observed {
  readonly verdict: Verdict;
  /** The view that the verdict is taken from. Null: nothing could be analyzed. */
  readonly decisive: RankView | null;
  /** The rank whose wall time is shown. Null: no log has it. */
  readonly jobView: RankView | null;
  readonly facts: RunFacts;
}

/**
 * Says what limits a run. `known`: how all its ranks compare, if that was computed before. Throws InputError when the
 * selection leaves nothing.
 */
export function diagnoseInputs(
  inputs: RunInputs,
  selection: Selection,
  known: ComparedViews | null = null,
): Diagnosis {
  const run = observe(inputs, selection, known);
  const remarks = REMARKS.flatMap((remark) => remark(run) ?? []);
  const { claim, verdict } = decide(run, MAKERS, remarks);
  const { bottleneck, confidence, cause } = verdict;
  const { views, comparison, locations, evidence, job } = run;
  return {
    ...run,
    verdict,
    decisive: claim.view ?? null,
    jobView: jobViewOf(views),
    facts: {
      ranks: views,
      verdict: { bottleneck, confidence, cause },
      across: acrossOf(comparison, locations.ranks),
      gpus: locations.gpus,
      hostLines: hostLines(inputs, claim.view?.rank ?? null),
      captured: capturedRanks(locations.manifests, evidence.activity),
      job,
      evidence,
    },
  };
}
