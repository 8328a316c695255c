import { type CheckResult, found, type HealthProblem } from '../../base/check.js';
import { groupBy } from '../../base/group-by.js';

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

export function startSkew(windows: readonly RankWindow[]): readonly HealthProblem[] {
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
export interface SeenRanks {
  readonly ranks: readonly number[];
  readonly worldSize: number | null;
}

export function missingRanks({ ranks, worldSize }: SeenRanks): readonly HealthProblem[] {
  const have = new Set(ranks).size;
  const missing = have === 0 || worldSize === null ? 0 : worldSize - have;
  const message = `${have} of ${worldSize} ranks were captured`;
  return onRanks([], found('note', 'missing-ranks', missing, message, 'nothing is known about the others'));
}
