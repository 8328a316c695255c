import { buildPage } from '../page/build-page.js';
import type { PageData } from '../page/page-data.js';
import type { Report } from '../report/report.js';
import { type DiagnoseOptions, diagnoseInFull } from './diagnose.js';

export type { PageData } from '../page/page-data.js';

/** Diagnoses the files under the paths and gathers what the page shows beside the report. */
export async function diagnoseForPage(
  paths: string | readonly string[],
  title: string | null,
  options: DiagnoseOptions = {},
): Promise<{ readonly report: Report; readonly page: PageData }> {
  const { diagnosis, report } = await diagnoseInFull(paths, options);
  return { report, page: buildPage(diagnosis, report, title) };
}
