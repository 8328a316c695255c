import { largest, mean, median } from '../../base/statistics.js';
import { lateAxis, lateHost } from './late-places.js';
import { byCause, CAUSES, type OwnCause, type RankTable } from './own-time.js';

export type Pattern = 'persistent' | 'spike' | 'periodic' | 'rotating' | 'host' | 'stage';
export type Cause = OwnCause | 'link' | 'unknown';

export interface LateRanks {
  /** Empty: a rotating imbalance. */
  readonly ranks: readonly number[];
  readonly pattern: Pattern;
  readonly cause: Cause;
  /** ns a step that the others wait for it. */
  readonly cost: number;
  readonly confidence: number;
  /** Of a place: the host's name, or the axis. */
  readonly place: string | null;
  /** Steps in which it was last, by index. */
  readonly steps: readonly number[];
}

/** Robust z above which a rank stands out (Iglewicz and Hoaglin's 3.5; method 5). */
const STANDS_OUT = 3.5;
/** Spread is never believed to be smaller than this part of the median: eight equal ranks must give none. */
const LEAST_SPREAD = 0.01;
/** Lateness below this part of the step is not worth a name. */
const WORTH_NAMING = 0.05;
/** Of the steps: last in at least so many is persistent. */
const MOSTLY = 0.5;
const MAD_TO_DEVIATION = 1.4826;

/** Who is late, in what pattern, why, and what it costs; nobody where nobody stands out. */
export function findLateRanks(table: RankTable): LateRanks[] {
  if (table.ranks.length < 2 || table.steps.length < 1) return [];
  const lateness = latenessOf(table);
  const places = [lateHost(table, lateness), lateAxis(table, lateness)].filter((p) => p !== null);
  if (places.length > 0) return places.map((p) => ({ ...p, cause: causeOf(table, p.ranks, null) }));
  const single = table.ranks.flatMap((rank, r) => {
    const found = patternOf(table, lateness, r);
    return found ? [{ rank, r, ...found }] : [];
  });
  if (single.length > 0)
    return single
      .map(({ rank, r, steps, ...found }) => ({
        ...found,
        ranks: [rank],
        place: null,
        steps: steps.map((s) => table.steps[s]!),
        cause: causeOf(table, [rank], steps),
        cost: costOf(table, r),
      }))
      .filter((f) => f.cost >= (WORTH_NAMING * table.step) / table.steps.length)
      .sort((a, b) => b.cost - a.cost);
  const rotating = rotation(table, lateness);
  return rotating ? [rotating] : [];
}

/** ns by which each rank's own time exceeds the median rank's, step by step. */
export function latenessOf({ own, steps }: RankTable): Float64Array[] {
  const usual = steps.map((_, s) => median(own.map((o) => o[s]!)));
  return own.map((o) => o.map((ns, s) => ns - usual[s]!));
}

/** What counts as a usual deviation between ranks, ns. */
function spreadOf(table: RankTable, values: readonly number[]): number {
  const middle = median(values);
  const deviation = MAD_TO_DEVIATION * median(values.map((v) => Math.abs(v - middle)));
  const floor = Math.max(LEAST_SPREAD * median(table.own.map((o) => mean([...o]))), 2 * table.clockError);
  return Math.max(deviation, floor);
}

interface SinglePattern {
  readonly pattern: Pattern;
  readonly confidence: number;
  /** Places of the steps in which it is late. */
  readonly steps: readonly number[];
}

function patternOf(table: RankTable, lateness: readonly Float64Array[], r: number): SinglePattern | null {
  const n = table.steps.length;
  const late = lateIn(table, lateness, r);
  if (late.length === 0) return null;
  const meanLateness = mean([...lateness[r]!]);
  const others = lateness.map((l) => mean([...l]));
  const z = (meanLateness - median(others)) / spreadOf(table, others);
  const worthIt = meanLateness >= WORTH_NAMING * table.step;
  if (worthIt && z > STANDS_OUT && late.length >= MOSTLY * n) {
    return {
      pattern: 'persistent',
      steps: late,
      confidence: confidenceOf(z, late.length, n, table.ranks.length),
    };
  }
  const period = periodOf(late);
  const sum = late.reduce((ns, s) => ns + lateness[r]![s]!, 0);
  if (sum < WORTH_NAMING * table.step) return null;
  if (period !== null)
    return { pattern: 'periodic', steps: late, confidence: Math.min(0.9, 0.6 + 0.1 * late.length) };
  // Late in a few steps by much more than anybody else ever is.
  if (late.length < MOSTLY * n && standsAlone(lateness, r, late)) {
    return { pattern: 'spike', steps: late, confidence: 0.75 };
  }
  return null;
}

/** Steps in which a rank is late by more than ranks differ anyway, and by enough to matter. */
function lateIn(table: RankTable, lateness: readonly Float64Array[], r: number): number[] {
  return table.steps.flatMap((_, s) => {
    const inStep = lateness.map((l) => l[s]!);
    const z = (inStep[r]! - median(inStep)) / spreadOf(table, inStep);
    return z > STANDS_OUT && inStep[r]! >= WORTH_NAMING * table.step ? [s] : [];
  });
}

/** No other rank is ever half as late: otherwise it is an imbalance that moves about. */
function standsAlone(lateness: readonly Float64Array[], r: number, late: readonly number[]): boolean {
  const own = median(late.map((s) => lateness[r]![s]!));
  return lateness.every((l, q) => q === r || largest(l) < own / 2);
}

/** Equal distances between three or more late steps. */
function periodOf(late: readonly number[]): number | null {
  if (late.length < 3) return null;
  const distance = late[1]! - late[0]!;
  return distance > 1 && late.every((s, i) => i === 0 || s - late[i - 1]! === distance) ? distance : null;
}

/**
 * Chance that a rank is last so often by luck (binomial), for as many ranks as were looked at (Holm's first step), and
 * how far it stands out.
 */
function confidenceOf(z: number, last: number, steps: number, ranks: number): number {
  const luck = Math.min(1, ranks * binomialTail(steps, last, 1 / ranks));
  const certain = steps >= 3 ? 1 - luck : 0.75;
  return Math.round(100 * Math.min(0.98, certain * (0.7 + Math.min(0.28, 0.03 * (z - STANDS_OUT))))) / 100;
}

/** Probability of `k` or more successes in `n` tries. */
export function binomialTail(n: number, k: number, p: number): number {
  let sum = 0;
  for (let i = k; i <= n; i++) sum += Math.exp(logChoose(n, i) + i * Math.log(p) + (n - i) * Math.log1p(-p));
  return Math.min(1, sum);
}

function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}

/** ns a step that all could be faster without this rank: up to where the next one arrives. */
function costOf({ own, steps }: RankTable, r: number): number {
  const saved = steps.map((_, s) => {
    const others = largest(own.filter((_, q) => q !== r).map((o) => o[s]!));
    return Math.max(0, own[r]![s]! - others);
  });
  return mean(saved);
}

/** The class of time in which the late ones exceed the median rank most. */
export function causeOf(table: RankTable, late: readonly number[], steps: readonly number[] | null): Cause {
  const counted = steps ?? table.steps.map((_, s) => s);
  const totals = table.ranks.map((_, r) => {
    const sum = { data: 0, gpu: 0, compile: 0, host: 0 };
    for (const s of counted) {
      const own = byCause(table.time[r]![s]!);
      for (const c of CAUSES) sum[c] += own[c] / counted.length;
    }
    return sum;
  });
  const isLate = table.ranks.map((rank) => late.includes(rank));
  const excess = CAUSES.map((c) => {
    const usual = median(totals.filter((_, r) => !isLate[r]).map((t) => t[c]));
    return { cause: c, ns: mean(totals.filter((_, r) => isLate[r]).map((t) => t[c])) - usual };
  });
  const most = excess.reduce((a, b) => (b.ns > a.ns ? b : a));
  // Phases tell input; computing and the host look the same in them.
  if (table.phasesOnly && most.cause !== 'data') return 'unknown';
  return most.ns > 0.01 * table.step ? most.cause : 'unknown';
}

/** Somebody is always late, but each time another one: no bad rank, an imbalance in data or experts. */
function rotation(table: RankTable, lateness: readonly Float64Array[]): LateRanks | null {
  const n = table.steps.length;
  if (n < 4 || table.ranks.length < 3) return null;
  const last: number[] = [];
  const losses = table.steps.map((_, s) => {
    const inStep = lateness.map((l) => l[s]!);
    const worst = largest(inStep);
    last.push(inStep.indexOf(worst));
    const sorted = inStep.toSorted((a, b) => b - a);
    return { ns: worst, z: worst / spreadOf(table, inStep), next: sorted[1]! };
  });
  const loss = mean(losses.map((l) => l.ns));
  const real = losses.filter((l) => l.z > STANDS_OUT).length;
  if (loss < WORTH_NAMING * table.step || real < MOSTLY * n || entropy(last) < 0.6) return null;
  const causes = table.steps.map((_, s) => causeOf(table, [table.ranks[last[s]!]!], [s]));
  return {
    ...{ ranks: [], pattern: 'rotating', place: null, steps: table.steps, cost: loss },
    cause: mostCommon(causes),
    confidence: Math.min(0.9, 0.5 + 0.05 * real),
  };
}

/** Of who is last, as a share of the most there could be: 0 always the same, 1 all equally often. */
function entropy(last: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const r of last) counts.set(r, (counts.get(r) ?? 0) + 1);
  const bits = [...counts.values()].reduce((h, c) => h - (c / last.length) * Math.log(c / last.length), 0);
  return bits / Math.log(last.length);
}

function mostCommon<T>(values: readonly T[]): T {
  const counts = new Map<T, number>();
  for (const v of values) counts.set(v, (counts.get(v) ?? 0) + 1);
  return [...counts].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
}
