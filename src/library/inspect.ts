import { type ProgressSink, readInputs } from '../ingest/read-run.js';
import { buildInspectReport, type InspectReport } from '../report/inspect-report.js';

export interface InspectOptions {
  /** Files read at once. Default: one per core. */
  readonly jobs?: number | undefined;
  readonly progress?: ProgressSink | undefined;
}

/** What is in the files under the paths. Throws InputError when there is nothing to read. */
export async function inspect(
  paths: string | readonly string[],
  options: InspectOptions = {},
): Promise<InspectReport> {
  const list = typeof paths === 'string' ? [paths] : paths;
  return buildInspectReport(await readInputs(list, { want: 'summary', ...options }));
}
