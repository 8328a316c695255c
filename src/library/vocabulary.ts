/** Types and small values that users of the library need in addition to its functions. The CLI is one of them. */

export type { Verdict } from '../answers/kit/claim.js';
export type { Health, HealthProblem } from '../base/check.js';
export { InputError } from '../base/input-error.js';
export type { Position, Problem } from '../base/problem.js';
export type * from '../compare/compare-report.js';
export { BOTTLENECKS, type Bottleneck } from '../facts/causes.js';
export { type StepRange, stepsOption } from '../facts/step-facts.js';
export type { TimeClass } from '../facts/time-class.js';
export type { ProgressSink, ReadOptions } from '../ingest/pool.js';
export type { InspectedInput, InspectReport } from '../report/inspect-report.js';
export type * from '../report/report.js';
export { toolInfo } from '../report/tool-info.js';
export type { Evidence, Finding, Speedup } from '../rules/kit/finding.js';
export type { RuleInfo } from '../rules/kit/rule.js';
export type { FactsReport, Share } from './facts.js';
