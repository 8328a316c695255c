import { seconds, secondsToMs } from '../base/units.js';
import type { OperationsAnswer } from '../diagnosis/verdict/operations-verdict.js';
import type { ReportStep, ReportStraggler, ReportWhatIf } from './report.js';

/** The parts of the report that come from a table of operations. */

export function operationsWhatIf({ job }: OperationsAnswer): ReportWhatIf {
  const { actual_s, ideal_s, slowdown, m_w, m_s } = job;
  return { actual_s: seconds(actual_s), ideal_s: seconds(ideal_s), slowdown, m_w, m_s, cases: [] };
}

export function operationsStep({ job: { actual_s, perStep } }: OperationsAnswer): ReportStep {
  return {
    ms: secondsToMs(seconds(actual_s)),
    source: 'host',
    profiled_ms: null,
    times_ms: perStep.map((s) => secondsToMs(seconds(s.actual_s))),
    corrected: false,
    parts: [],
    iteration: null,
    count: perStep.length,
    first: perStep[0]?.step ?? null,
    last: perStep.at(-1)?.step ?? null,
  };
}

export function operationsStragglers({ straggler, verdict }: OperationsAnswer): ReportStraggler[] {
  if (!straggler) return [];
  const { cost_s, ...rest } = straggler;
  return [{ ...rest, cost_ms: secondsToMs(cost_s), cost_high_ms: null, sentence: verdict.sentence }];
}
