import { type Diagnosis, diagnoseInputs } from '../answers/diagnosis.js';
import type { Selection } from '../diagnosis/observe.js';
import { type ComparedViews, compareViews } from '../diagnosis/ranks/compare-views.js';
import { locateRanks } from '../diagnosis/ranks/locations.js';
import { viewsOf } from '../diagnosis/ranks/views.js';
import type { StepRange } from '../facts/step-facts.js';
import { traceFactsOf } from '../ingest/input.js';
import { keepOneFolder } from '../ingest/one-folder.js';
import { keepOneRun } from '../ingest/one-run.js';
import { keepOneWindow } from '../ingest/one-window.js';
import type { ReadOptions } from '../ingest/pool.js';
import { type ReadElsewhere, withElsewhere } from '../ingest/read-elsewhere.js';
import { type RunInputs, readInputs, shownNames } from '../ingest/read-run.js';
import type { DrawOptions, Want } from '../ingest/task.js';
import { buildReport } from '../report/build-report.js';
import { inBrief } from '../report/many-ranks.js';
import type { Report } from '../report/report.js';
import { RULES } from '../rules/rules.js';
import { runRules } from '../rules/run-rules.js';

/** Reads files again with all details. The caller provides it, because diagnosis does not open files. */
type ReadInFull = (files: readonly string[]) => Promise<RunInputs>;

const MAX_RANKS = 4;
const MAX_RANKS_PER_CAUSE = 2;

/** Inputs with the details that rules need. */
interface InFull {
  readonly inputs: RunInputs;
  /** Of all ranks, where reading again changes nothing about it. Null: not known. */
  readonly compared: ComparedViews | null;
}

/**
 * In a large run most ranks are read without details (`TraceFacts.light`). Late ranks are read again in full, because their
 * own findings say why they are late. If only a few ranks were read, all are read again.
 */
async function withLateRanksInFull(
  run: RunInputs,
  steps: StepRange | null,
  readInFull: ReadInFull,
): Promise<InFull> {
  const light = run.members.filter((m) => traceFactsOf(m)?.light);
  if (light.length === 0) return { inputs: run, compared: null };
  const views = viewsOf(run.members, steps);
  const all = compareViews(views, locateRanks(run));
  // Light facts have all that is compared. Only what a log is used for may change with the details.
  const compared = views.some((v) => v.source === 'log' || v.log) ? null : all;
  const late = (all.comparison?.late ?? []).flatMap((l) => l.ranks.slice(0, MAX_RANKS_PER_CAUSE));
  const wanted = new Set(late.slice(0, MAX_RANKS));
  // Of many traces few are left where the others were of other runs or windows.
  const again = light.length <= MAX_RANKS ? light : light.filter((m) => wanted.has(m.rank));
  const files = new Set(again.map((m) => m.file));
  if (files.size === 0) return { inputs: run, compared };
  const inFull = await readInFull([...files]);
  const byPath = new Map(inFull.members.map((m) => [m.path, m]));
  const members = run.members.map((m) => {
    const { rank, rankSource, hasEarlierWindow } = m;
    return { ...(byPath.get(m.path) ?? m), rank, rankSource, hasEarlierWindow };
  });
  return { inputs: { ...run, members }, compared };
}

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
  return { diagnosis, report: options.everyRank ? report : inBrief(report) };
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
  const run = keepOneWindow(keepOneFolder(keepOneRun(read, wanted)));
  const shownAs = shownNames(reading);
  const readAgain = (files: readonly string[]) => readInputs(files, want, { shownAs });
  const { inputs, compared } = await withLateRanksInFull(run, steps, readAgain);
  return diagnoseInputs(inputs, { steps, ranks }, compared);
}
