/** whyslow as a library: docs/library.md. The command line uses the same functions. */

export { readEvents } from './ingest/read-events.js';
export {
  type Run,
  type RunLog,
  type RunManifestFile,
  type RunTelemetry,
  type RunTrace,
  readRun,
} from './ingest/run.js';
export { compare, compareHistory, type HistoryOptions, type SidePaths } from './library/compare.js';
export { type DiagnoseOptions, diagnose } from './library/diagnose.js';
export { type FactsOptions, facts } from './library/facts.js';
export { inspect } from './library/inspect.js';
export { rules } from './library/rules.js';
export * from './library/vocabulary.js';
export type { CallTree } from './model/call-tree.js';
export { Category, isGpuWork } from './model/category.js';
export type { EventLog, EventLogHeader, EventLogRun } from './model/event-log.js';
export type { GpuLinks } from './model/gpu-links.js';
export type { ClockAnchor, Manifest, MeshAxis, RankManifest, RunManifest } from './model/manifest.js';
export type { HostStep } from './model/steps.js';
export { StringTable } from './model/string-table.js';
export type { GpuIdentity, GpuTelemetry, TelemetryField } from './model/telemetry.js';
export { Trace } from './model/trace.js';
export * from './model/trace-data.js';
