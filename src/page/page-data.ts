import type { Report } from '../report/report.js';

/** What the page shows: the report, and what people look up beside it. Plain data of bounded size. */
export interface PageData {
  readonly title: string | null;
  readonly report: Report;
}
