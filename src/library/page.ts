import type { EmbeddedTimeline } from '../drawing/embedded.js';
import { buildPage } from '../page/build-page.js';
import type { PageData } from '../page/page-data.js';
import type { Report } from '../report/report.js';
import { discoverFiles } from '../sources/discover.js';
import { embedTimeline } from '../timeline/embed-timeline.js';
import { type DiagnoseOptions, diagnoseInFull } from './diagnose.js';

export type { EmbeddedTimeline } from '../drawing/embedded.js';
export type { PageData } from '../page/page-data.js';

/** Diagnoses the files under the paths and collects what the page shows in addition to the report. */
export async function diagnoseForPage(
  paths: string | readonly string[],
  title: string | null,
  options: DiagnoseOptions = {},
): Promise<DiagnosedPage> {
  const { files } = await discoverFiles(typeof paths === 'string' ? [paths] : paths);
  // Manifests and telemetry are small files.
  const large = files.filter((f) => f.size === 0 || f.size > SMALL_FILE).length;
  const bounded = Math.max(LEAST_SLICES, Math.floor(MOST_SLICES / Math.max(1, large)));
  const draw = { columns: [], bounded };
  const { diagnosis, report } = await diagnoseInFull(paths, options, draw);
  return { report, page: buildPage(diagnosis, report, title), timeline: embedTimeline(diagnosis) };
}

export interface DiagnosedPage {
  readonly report: Report;
  readonly page: PageData;
  /** Null: there is no trace to draw. */
  readonly timeline: EmbeddedTimeline | null;
}

/** Of all ranks together. A slice takes about five bytes in the file, so these are half a megabyte. */
const MOST_SLICES = 100_000;
/** Bytes. */
const SMALL_FILE = 10_000;
/** Of one rank: what its steps look like from afar. */
const LEAST_SLICES = 1500;
