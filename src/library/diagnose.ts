import { type Diagnosis, diagnoseInputs, type Selection } from '../diagnosis/diagnosis.js';
import { withLateRanksInFull } from '../diagnosis/read-again.js';
import { keepOneRun } from '../ingest/one-run.js';
import { type ProgressSink, type RunInputs, readInputs } from '../ingest/read-run.js';
import { buildReport } from '../report/build-report.js';
import type { Report } from '../report/report.js';
import { RULES } from '../rules/rules.js';
import { runRules } from '../rules/run-rules.js';

export interface DiagnoseOptions extends Partial<Selection> {
  /** Files read at once. Default: one per core. */
  readonly jobs?: number | undefined;
  readonly progress?: ProgressSink | undefined;
}

/** Reads everything under the paths and says why it is slow. Throws InputError when there is nothing to say it from. */
export async function diagnose(
  paths: string | readonly string[],
  options: DiagnoseOptions = {},
): Promise<Report> {
  const { steps = null, ranks = null, ...reading } = options;
  const want = { facts: { steps } };
  const run = keepOneRun(await readInputs(typeof paths === 'string' ? [paths] : paths, { want, ...reading }));
  const inputs = await withLateRanksInFull(run, steps, (files) => readInputs(files, { want }));
  return reportOn(inputs, { steps, ranks });
}

/** The report on what was read. */
export function reportOn(inputs: RunInputs, selection: Selection): Report {
  const diagnosis: Diagnosis = diagnoseInputs(inputs, selection);
  return buildReport(diagnosis, runRules(RULES, diagnosis.facts));
}
