import { seconds, secondsToMs } from '../base/units.js';
import type { OperationsAnswer } from '../diagnosis/verdict/operations-verdict.js';
import type { ReportStep, ReportStraggler, ReportWhatIf } from './report.js';

/** What a table of operations says, as the report has it. */

export function operationsWhatIf({ job }: OperationsAnswer): ReportWhatIf {
  const { actual_s, ideal_s, slowdown, m_w, m_s } = job;
  return { actual_s: seconds(actual_s), ideal_s: seconds(ideal_s), slowdown, m_w, m_s, cases: [] };
}

export function operationsStep({ job }: OperationsAnswer): ReportStep {
  return {
    ms: secondsToMs(seconds(job.actual_s)),
    source: 'host',
    profiled_ms: null,
    corrected: false,
    count: job.perStep.length,
    first: job.perStep[0]?.step ?? null,
    last: job.perStep.at(-1)?.step ?? null,
  };
}

export function operationsStragglers({ straggler, verdict }: OperationsAnswer): ReportStraggler[] {
  if (!straggler) return [];
  const { cost_s, ...rest } = straggler;
  return [{ ...rest, cost_ms: secondsToMs(seconds(cost_s)), sentence: verdict.sentence }];
}
