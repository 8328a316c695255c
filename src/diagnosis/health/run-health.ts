import {
  type CheckResult,
  found,
  type Grade,
  type Health,
  type HealthProblem,
  inputProblem,
  type Severity,
} from '../../base/check.js';
import { groupBy } from '../../base/group-by.js';
import type { Problem } from '../../base/problem.js';
import { largest } from '../../base/statistics.js';
import { formatCount, formatNumber, formatWholePercent, share } from '../../base/units.js';
import { sumOfClasses } from '../../facts/time-class.js';
import { traceSummaryOf } from '../../ingest/input.js';
import type { RankedInput } from '../../ingest/ranks.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type { RankManifest } from '../../model/manifest.js';
import type { Comparison } from '../../run/compare.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import { manifestsOf, meshProblems, type RunLocations, runFileProblems } from '../ranks/locations.js';
import type { RankView } from '../ranks/rank-view.js';

interface RankNotes {
  readonly rank: number;
  readonly problems: readonly CheckResult[];
}

/** What earlier profiler windows did to the processes that the files come from. */
export function profiledBefore(
  inputs: Pick<RunInputs, 'beside'>,
  members: readonly RankedInput[],
): readonly RankNotes[] {
  const manifests = manifestsOf(inputs).map((m) => m.manifest);
  const ranks = new Map(manifests.flatMap((m) => (m.of === 'rank' && m.rank !== null ? [[m.rank, m]] : [])));
  const inTraces = members.map((m) => ({
    rank: m.rank,
    problems: wasAttached(m, ranks.get(m.rank) ?? null) ? STAYS_ATTACHED : [],
  }));
  const measured = [...ranks.values()].map((m) => ({ rank: m.rank ?? 0, problems: isSlower(m) }));
  return [...inTraces, ...measured];
}

const STAYS_ATTACHED = found(
  'note',
  'profiled-before',
  1,
  'this process had been profiled before, and the profiler stayed attached to the GPU',
  'between windows the job runs slower than the step given here, up to 1.7 times if its host is the limit; ' +
    'TEARDOWN_CUPTI=1 in its environment prevents that from CUDA 12.6 on',
);

function wasAttached(input: RankedInput, manifest: RankManifest | null): boolean {
  const summary = traceSummaryOf(input);
  if (!summary || summary.gpuWork === 0) return false;
  const first = summary.steps[0]?.index ?? Number.POSITIVE_INFINITY;
  const earlier = (manifest?.windows ?? []).filter((w) => w.firstStep < first);
  // Capture knows. Otherwise the trace or the other files tell.
  if (earlier.length > 0) return earlier.at(-1)!.detached === false;
  return summary.process.wasAttached ?? input.hasEarlierWindow;
}

function isSlower({ windows }: RankManifest): readonly CheckResult[] {
  const slower = windows.findLast((w) => w.slower !== null)?.slower ?? null;
  if (!slower) return [];
  const [low, high] = [slower.low, slower.high].map((change) => formatWholePercent(share(change)));
  return found(
    'warning',
    'slower-since-window',
    1,
    `steps take ${low} to ${high} longer since this rank recorded a profiler window`,
    'steps measured after it are slower than the job by itself; those before it count where there are any',
  );
}

const WEIGHT: Readonly<Record<Severity, number>> = { note: 0, warning: 1, severe: 2 };
const GRADES: readonly Grade[] = ['good', 'usable', 'poor'];

/** Joins what was found on each rank: the same problem on several ranks is one entry. */
export function summarizeHealth(
  perRank: readonly { readonly rank: number; readonly problems: readonly CheckResult[] }[],
  runProblems: readonly Problem[],
  windows: readonly RankWindow[],
  seen: SeenRanks,
): Health {
  const byCode = new Map<string, Joined>();
  for (const { rank, problems } of perRank) for (const p of problems) join(byCode, p, rank);
  const problems: HealthProblem[] = [
    ...[...byCode.values()].map(({ ranks, ...p }) => ({ ...p, ranks: [...ranks] })),
    ...runProblems.map((p) => ({ ...inputProblem(p), ranks: [] })),
    ...startSkew(windows),
    ...missingRanks(seen),
  ].sort((a, b) => WEIGHT[b.severity] - WEIGHT[a.severity]);
  return { grade: GRADES[problems[0] ? WEIGHT[problems[0].severity] : 0]!, problems };
}

interface Joined extends Problem {
  count: number;
  severity: Severity;
  readonly ranks: Set<number>;
}

function join(byCode: Map<string, Joined>, problem: CheckResult, rank: number): void {
  const known = byCode.get(problem.code);
  if (!known) {
    byCode.set(problem.code, { ...problem, ranks: new Set([rank]) });
    return;
  }
  known.count += problem.count;
  if (WEIGHT[problem.severity] > WEIGHT[known.severity]) known.severity = problem.severity;
  known.ranks.add(rank);
}

export interface RunHealth {
  /** What is worst about the input, if it is severe. Problems that only the comparison or the rules find do not count. */
  readonly severe: HealthProblem | null;
  /** All problems, including those that rules add. */
  with(ruleProblems: readonly Problem[]): Health;
}

interface Checked {
  readonly inputs: RunInputs;
  readonly members: readonly RankedInput[];
  readonly views: readonly RankView[];
  readonly locations: RunLocations;
  readonly comparison: Comparison | null;
}

export function runHealth({ inputs, members, views, locations, comparison }: Checked): RunHealth {
  const ofViews = views.map((view) => ({ rank: view.rank, problems: [...view.notes, ...selfCheck(view)] }));
  const notes = [
    ...ofViews,
    ...views.map(leftOutCollectives),
    ...dividedByLog(views),
    ...profiledBefore(inputs, members),
  ];
  const runProblems = [...inputs.problems, ...runFileProblems(inputs), ...locations.problems];
  const offsets = knownOffsets(comparison);
  const withMore = (more: readonly Problem[]) =>
    healthOf(members, locations.worldSize, [...runProblems, ...more], notes, offsets);
  return {
    severe: withMore([]).problems.find((p) => p.severity === 'severe' && !isSpared(p, views)) ?? null,
    with: (ruleProblems) => withMore([...meshProblems(comparison, locations), ...ruleProblems]),
  };
}

/** A truncated file that is not used misleads nobody, if there are others. */
const isSpared = ({ code }: HealthProblem, views: readonly RankView[]) =>
  code === 'lost-calls' && views.length > 0;

/** Memory is bounded: of very many collectives the first are kept. */
function leftOutCollectives({ rank, facts: { collectives } }: RankView) {
  const count = collectives?.leftOut ?? 0;
  const message = `${formatCount(count, 'collective')} beyond the first ${formatNumber(collectives?.length ?? 0)} were left out`;
  const consequence =
    'waits and transfers are those of the first; record fewer steps, or choose some with --steps';
  return { rank, problems: found('warning', 'collectives-left-out', count, message, consequence) };
}

/** The report shows how the step of every rank divides, as far as its files tell. */
function dividedByLog(views: readonly RankView[]) {
  if (views.every((view) => view.source === 'log')) return [];
  const message = 'no trace, so the event log alone says how the step divides';
  const consequence = 'compare step times with those of ranks with a trace, not parts of the step';
  return views
    .filter((view) => view.source === 'log')
    .map(({ rank }) => ({ rank, problems: found('note', 'divided-by-log', 1, message, consequence) }));
}

/** The health of files, with problems of the run as a whole, and notes on single ranks. */
export function healthOf(
  members: readonly RankedInput[],
  worldSize: number | null,
  runProblems: readonly Problem[],
  notes: readonly { readonly rank: number; readonly problems: readonly CheckResult[] }[] = [],
  offsets: ReadonlyMap<number, bigint> = new Map(),
): Health {
  const checks = members.map(({ rank, checks }) => ({ rank, problems: checks }));
  const seen = { ranks: members.map((m) => m.rank), worldSize };
  const windows = members.flatMap((m) => windowOf(m, offsets.get(m.rank) ?? 0n));
  return summarizeHealth([...checks, ...notes], runProblems, windows, seen);
}

/** Collectives of two runs of the same program do not end together like this: their steps differ by more. */
const SAME_RUN_NS = 500_000;

/** By how much the clocks of ranks are ahead, as their collectives show. They may differ by more than a window lasts. */
function knownOffsets(comparison: Comparison | null): ReadonlyMap<number, bigint> {
  const known = comparison?.clocks.ranks.filter((c) => c.component === 0 && c.error <= SAME_RUN_NS) ?? [];
  return new Map(known.map(({ rank, offset }) => [rank, BigInt(Math.round(offset))]));
}

/** When a trace was recorded. Empty for other files. */
function windowOf(input: RankedInput, offset: bigint): RankWindow[] {
  const { rank, hints } = input;
  const summary = traceSummaryOf(input);
  if (!summary) return [];
  const { startNs, endNs } = summary.window;
  const onRun = (time: bigint | null) => time && time - offset;
  return [{ group: String(hints.step ?? ''), rank, startNs: onRun(startNs), endNs: onRun(endNs) }];
}

/** When a rank's trace was recorded. Small, so that traces need not be in memory together to be compared. */
export interface RankWindow {
  /** Only traces of the same group, e.g. of the same step, are compared. */
  readonly group: string;
  readonly rank: number;
  /** First and last event, nanoseconds since 1970. Null: the trace does not say. */
  readonly startNs: bigint | null;
  readonly endNs: bigint | null;
}

/** Profilers of one job never start at once (31 s apart was seen). Beyond this, the first collectives are mostly waiting. */
const START_SKEW_NS = 100_000_000n;

function startSkew(windows: readonly RankWindow[]): readonly HealthProblem[] {
  return [...groupBy(windows, (w) => w.group).values()].flatMap(skewWithin);
}

function skewWithin(windows: readonly RankWindow[]): readonly HealthProblem[] {
  const known = windows.flatMap(({ rank, startNs: start, endNs: end }) =>
    start === null || end === null ? [] : [{ rank, start, end }],
  );
  if (known.length < 2) return [];
  const first = known.map((w) => w.start).reduce((a, b) => (b < a ? b : a));
  const last = known.map((w) => w.start).reduce((a, b) => (b > a ? b : a));
  if (known.some((w) => w.end < last)) {
    const message = 'some of these traces were recorded at different times';
    const consequence = 'they cannot be compared with each other; check that they belong to one run';
    return onRanks(known, found('severe', 'disjoint-windows', 1, message, consequence));
  }
  if (last - first < START_SKEW_NS) return [];
  const skewMs = Number((last - first) / 1_000_000n);
  const skew = skewMs >= 10_000 ? `${(skewMs / 1000).toFixed(1)} s` : `${skewMs} ms`;
  const message = `the ranks' profilers started ${skew} apart`;
  const consequence = 'the first collectives wait for the profiler, not for a slow rank: leave them out';
  const late = known.filter((w) => w.start - first >= START_SKEW_NS);
  return onRanks(late, found('warning', 'start-skew', 1, message, consequence));
}

const onRanks = (windows: readonly { readonly rank: number }[], problems: readonly CheckResult[]) =>
  problems.map((p) => ({ ...p, ranks: [...new Set(windows.map((w) => w.rank))] }));

/** Ranks with a trace or a log, and how many the job has. Null: nothing says. */
interface SeenRanks {
  readonly ranks: readonly number[];
  readonly worldSize: number | null;
}

export function missingRanks({ ranks, worldSize }: SeenRanks): readonly HealthProblem[] {
  const have = new Set(ranks).size;
  const missing = have === 0 || worldSize === null ? 0 : worldSize - have;
  const message = `${have} of ${worldSize} ranks were captured`;
  return onRanks([], found('note', 'missing-ranks', missing, message, 'nothing is known about the others'));
}

/** Recorded and estimated steps differ by a few percent. */
const TOLERANCE = 1.05;
const IMPOSSIBLE = 'impossible-figure';
const OURS = 'its figures cannot all be right; please report it, this is a fault of whyslow';

/** Figures of a rank that contradict each other. They are a fault of ours, whatever the recording is like. */
export function selfCheck(view: RankView): readonly CheckResult[] {
  const { step, time, facts } = view;
  const parts = sumOfClasses(time);
  const isSum =
    Math.abs(parts / step.unprofiled - 1) <= TOLERANCE - 1 || parts === 0 || step.unprofiled === 0;
  const longest = view.source === 'trace' ? longestKernel(view.facts.kernels) : 0;
  const most = Math.max(step.whole, step.recorded, largest([...facts.steps.periods]));
  return [
    ...found('severe', IMPOSSIBLE, Number(!isSum), 'the parts of the step do not add up to the step', OURS),
    ...found(
      'severe',
      IMPOSSIBLE,
      Number(longest > TOLERANCE * most),
      'the step is shorter than the longest kernel in it',
      OURS,
    ),
  ];
}

/** Of those that compute: communication, copies and waits of another step may overlap this one. */
const longestKernel = (kernels: readonly KernelTotal[]) =>
  largest([0, ...kernels.filter((k) => !OTHER.includes(k.class)).map((k) => k.longest)]);
const OTHER: readonly string[] = ['comms', 'copy', 'fill', 'wait'];
