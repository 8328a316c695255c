// All options and all kinds of results of the public functions.
import {
  BOTTLENECKS,
  type DiagnoseOptions,
  diagnose,
  type InspectReport,
  inspect,
  type Problem,
  type ProgressSink,
  type ReadOptions,
  type Report,
  type ReportRank,
  type RuleInfo,
  rules,
  type StepRange,
  type TimeClass,
} from 'whyslow';

const progress: ProgressSink = {
  start: (files: number, bytes: number) => console.log(files, bytes),
  update: (readBytes: number, doneFiles: number) => console.log(readBytes, doneFiles),
};
const steps: StepRange = { first: 3, last: null };
const reading: ReadOptions = { jobs: 2, progress };

export const options: DiagnoseOptions = { ...reading, steps, ranks: [0, 1] };

export const both = async (paths: readonly string[]): Promise<[Report, InspectReport]> => [
  await diagnose(paths, options),
  await inspect(paths, reading),
];

/** Shares of the step by class, largest first. */
export const largestClasses = ({ time }: Report): [TimeClass, number][] =>
  (Object.entries(time) as [TimeClass, number][]).sort((a, b) => b[1] - a[1]);

export const slowestRank = ({ ranks }: Report): ReportRank | undefined =>
  ranks.toSorted((a, b) => (b.step_ms ?? 0) - (a.step_ms ?? 0))[0];

export const problemsOf = (report: Report): readonly Problem[] => report.inputs.flatMap((i) => i.problems);

export const ruleOf = (id: string): RuleInfo | undefined => rules.find((rule) => rule.id === id);

export const names: readonly string[] = BOTTLENECKS;
