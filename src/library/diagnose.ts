import { type Diagnosis, diagnoseInputs } from '../answers/diagnosis.js';
import type { Selection } from '../diagnosis/observe.js';
import { withLateRanksInFull } from '../diagnosis/read-again.js';
import { keepOneFolder, type ReadElsewhere, withElsewhere } from '../ingest/one-folder.js';
import { keepOneRun } from '../ingest/one-run.js';
import { keepOneWindow } from '../ingest/one-window.js';
import type { ReadOptions } from '../ingest/pool.js';
import { readInputs, shownNames } from '../ingest/read-run.js';
import type { DrawOptions, Want } from '../ingest/task.js';
import { keepRelated } from '../ingest/unrelated.js';
import { buildReport } from '../report/build-report.js';
import { inBrief } from '../report/many-ranks.js';
import { withPrice } from '../report/money.js';
import type { Report } from '../report/report.js';
import { RULES } from '../rules/rules.js';
import { runRules } from '../rules/run-rules.js';

/** What to read. Default: all ranks of the newest run. */
export interface RunSelection extends ReadOptions, Partial<Pick<Selection, 'ranks'>> {
  /** Which run, if the files are of several. */
  readonly run?: string | null | undefined;
}

/** Default: all steps. */
export interface DiagnoseOptions extends RunSelection, Partial<Pick<Selection, 'steps'>> {
  /** What became of files that were read on a cluster. The report names those that are lost. */
  readonly elsewhere?: ReadElsewhere | undefined;
  /** List all ranks and files in the report, even if there are thousands. */
  readonly everyRank?: boolean | undefined;
  /** Of a GPU for an hour. The report has what the run costs then. */
  readonly price?: number | undefined;
}

/** Reads the files under the paths and says why training is slow. Throws InputError when there is nothing to analyze. */
export async function diagnose(
  paths: string | readonly string[],
  options: DiagnoseOptions = {},
): Promise<Report> {
  return (await diagnoseInFull(paths, options)).report;
}

/** The report with what it was made of: for the page, and to compare runs. */
export async function diagnoseInFull(
  paths: string | readonly string[],
  options: DiagnoseOptions = {},
  draw?: DrawOptions,
): Promise<{ readonly diagnosis: Diagnosis; readonly report: Report }> {
  const diagnosis = await readDiagnosis(paths, options, draw);
  const report = buildReport(diagnosis, runRules(RULES, diagnosis.facts));
  const shown = options.everyRank ? report : inBrief(report);
  return { diagnosis, report: options.price === undefined ? shown : withPrice(shown, options.price) };
}

/** What the report is made of, for those who need more than the report. */
export async function readDiagnosis(
  paths: string | readonly string[],
  { steps = null, ranks = null, run: wanted = null, elsewhere, ...reading }: DiagnoseOptions = {},
  draw?: DrawOptions,
): Promise<Diagnosis> {
  const want: Want = draw ? { facts: { steps }, draw } : { facts: { steps } };
  const here = await readInputs(paths, want, reading);
  const read = elsewhere ? withElsewhere(here, elsewhere) : here;
  const run = keepOneWindow(keepRelated(keepOneFolder(keepOneRun(read, wanted))));
  const shownAs = shownNames(reading);
  const readAgain = (files: readonly string[]) => readInputs(files, want, { shownAs });
  const { inputs, compared } = await withLateRanksInFull(run, steps, readAgain);
  return diagnoseInputs(inputs, { steps, ranks }, compared);
}
