import { diagnoseInputs, type Selection } from '../diagnosis/diagnosis.js';
import type { RunInputs } from '../ingest/read-run.js';
import { buildPage } from '../page/build-page.js';
import type { PageData } from '../page/page-data.js';
import { buildReport } from '../report/build-report.js';
import { RULES } from '../rules/rules.js';
import { runRules } from '../rules/run-rules.js';
import { type ReadColumns, RunTimeline } from './run-timeline.js';

/** A run that stays open: its page, and its timeline with the whole traces behind it. */
export interface OpenedRun {
  readonly page: PageData;
  /** Null: there is no trace to draw. */
  readonly timeline: RunTimeline | null;
}

/** From files that were read, here or in a browser. Columns stay in memory up to `limit` bytes. */
export function openedRun(
  inputs: RunInputs,
  selection: Selection,
  title: string | null,
  read: ReadColumns,
  limit: number,
): OpenedRun {
  const diagnosis = diagnoseInputs(inputs, selection);
  const report = buildReport(diagnosis, runRules(RULES, diagnosis.facts));
  const timeline = new RunTimeline(diagnosis, read, limit);
  return { page: buildPage(diagnosis, report, title), timeline: timeline.hasRanks ? timeline : null };
}
