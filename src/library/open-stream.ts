import { type Diagnosis, diagnoseInputs } from '../answers/diagnosis.js';
import { type Incoming, readStream } from '../ingest/read-stream.js';
import { buildPage } from '../page/build-page.js';
import type { PageData } from '../page/page-data.js';
import { buildReport } from '../report/build-report.js';
import { withPrice } from '../report/money.js';
import { RULES } from '../rules/rules.js';
import { runRules } from '../rules/run-rules.js';
import { type ReadColumns, RunTimeline } from '../timeline/run-timeline.js';

/** A run that stays open: its page, and its timeline with the whole traces behind it. */
export interface OpenedRun {
  readonly page: PageData;
  /** Null: there is no trace to draw. */
  readonly timeline: RunTimeline | null;
}

/** From files that were read and diagnosed, here or in a browser. Columns stay in memory up to `limit` bytes. */
export function openedRun(
  diagnosis: Diagnosis,
  title: string | null,
  read: ReadColumns,
  limit: number,
  price?: number,
): OpenedRun {
  const built = buildReport(diagnosis, runRules(RULES, diagnosis.facts));
  const report = price === undefined ? built : withPrice(built, price);
  const timeline = new RunTimeline(diagnosis, read, limit);
  return { page: buildPage(diagnosis, report, title), timeline: timeline.hasRanks ? timeline : null };
}

/** Opens one trace from its bytes and keeps its columns. For browsers: needs no file system. Throws InputError. */
export async function openStream(incoming: Incoming): Promise<OpenedRun> {
  const inputs = await readStream(incoming, { facts: { steps: null }, draw: { columns: 'all' } });
  const all = { steps: null, ranks: null };
  return openedRun(diagnoseInputs(inputs, all), null, async (member) => member, Number.POSITIVE_INFINITY);
}
