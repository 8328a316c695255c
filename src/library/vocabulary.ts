/** Small types that programs which use the library, the command line among them, need beside its functions. */
export { InputError } from '../base/input-error.js';
export type { Position, Problem } from '../base/problem.js';
export { BOTTLENECKS, type Bottleneck } from '../diagnosis/verdict/bottleneck.js';
export type { StepRange } from '../facts/step-facts.js';
export type { ProgressSink } from '../ingest/read-run.js';
export type { InspectReport } from '../report/inspect-report.js';
export type { Report } from '../report/report.js';
export { toolInfo } from '../report/tool-info.js';
export type { Finding } from '../rules/kit/finding.js';
export type { RuleInfo } from '../rules/kit/rule.js';
