import type { HealthProblem } from '../../base/check.js';

/** What is compared across ranks: small, so that traces need not be in memory together. */
export interface RankWindow {
  /** Traces of the same capture window, e.g. of the same step; only those are compared. */
  readonly group: string;
  readonly rank: number;
  /** First and last event, nanoseconds since 1970 where the trace says so; null where it does not. */
  readonly startNs: bigint | null;
  readonly endNs: bigint | null;
  readonly worldSize: number | null;
}

/** Profilers of one job start apart; beyond this a collective at the start is mostly waiting (users.md, 31 s seen). */
const START_SKEW_NS = 100_000_000n;

export function startSkew(windows: readonly RankWindow[]): readonly HealthProblem[] {
  const groups = new Map<string, RankWindow[]>();
  for (const w of windows) groups.set(w.group, [...(groups.get(w.group) ?? []), w]);
  return [...groups.values()].flatMap(skewWithin);
}

function skewWithin(windows: readonly RankWindow[]): readonly HealthProblem[] {
  const known = windows.filter((w) => w.startNs !== null && w.endNs !== null);
  if (known.length < 2) return [];
  const first = known.map((w) => w.startNs!).reduce((a, b) => (b < a ? b : a));
  const last = known.map((w) => w.startNs!).reduce((a, b) => (b > a ? b : a));
  const firstEnd = known.map((w) => w.endNs!).reduce((a, b) => (b < a ? b : a));
  if (last > firstEnd) return [disjoint(known)];
  if (last - first < START_SKEW_NS) return [];
  const ms = Number((last - first) / 1_000_000n);
  return [
    {
      severity: 'warning',
      code: 'start-skew',
      count: 1,
      message: `the ranks' profilers started ${ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${ms} ms`} apart`,
      consequence: 'the first collectives wait for the profiler, not for a slow rank: leave them out',
      first: null,
      ranks: known.filter((w) => w.startNs! - first >= START_SKEW_NS).map((w) => w.rank),
    },
  ];
}

function disjoint(windows: readonly RankWindow[]): HealthProblem {
  return {
    severity: 'severe',
    code: 'disjoint-windows',
    count: 1,
    message: 'some of these traces were recorded at different times',
    consequence: 'they cannot be compared with each other; are they of one run?',
    first: null,
    ranks: [...new Set(windows.map((w) => w.rank))],
  };
}

/** Ranks of which there is a trace or a log, and how many the job has; null where nothing says. */
export interface SeenRanks {
  readonly ranks: readonly number[];
  readonly worldSize: number | null;
}

/** As far as traces alone tell. */
export function seenIn(windows: readonly RankWindow[]): SeenRanks {
  const world = Math.max(0, ...windows.map((w) => w.worldSize ?? 0));
  return { ranks: windows.map((w) => w.rank), worldSize: world || null };
}

export function missingRanks({ ranks, worldSize }: SeenRanks): readonly HealthProblem[] {
  const world = worldSize ?? 0;
  const have = new Set(ranks);
  if (world <= 1 || have.size === 0 || have.size >= world) return [];
  return [
    {
      severity: 'note',
      code: 'missing-ranks',
      count: world - have.size,
      message: `${have.size} of ${world} ranks are here`,
      consequence: 'what the others did is not known',
      first: null,
      ranks: [],
    },
  ];
}
