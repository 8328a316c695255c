import type { ReadOptions } from '../ingest/pool.js';
import { readInputs } from '../ingest/read-run.js';
import { buildInspectReport, type InspectReport } from '../report/inspect-report.js';

/** Lists what the files under the paths contain. Throws InputError when there is nothing to read. */
export async function inspect(
  paths: string | readonly string[],
  options: ReadOptions = {},
): Promise<InspectReport> {
  return buildInspectReport(await readInputs(paths, 'summary', options));
}
