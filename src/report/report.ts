import type { z } from 'zod';
import type { reportSchema } from './report-schema.js';

/** What `whyslow diagnose` found; every field is described in report-schema.ts and docs/report.schema.json. */
export type Report = DeepReadonly<z.infer<typeof reportSchema>>;
export type ReportFinding = Report['findings'][number];
export type ReportRank = Report['ranks'][number];
/** How a step divides, as fractions. */
export type TimeShares = Report['time'];
export type TimeClass = keyof TimeShares;

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
