import { largest, mean, median, smallest } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { SlowGpu } from '../../telemetry/slow-gpu.js';
import { byCause, CAUSES, type OwnCause, type RankTable } from '../table/own-time.js';
import { lateGroup } from './late-groups.js';
import {
  type Differences,
  differencesOf,
  MOSTLY,
  patternOf,
  type SingleRankPattern,
  STANDS_OUT,
  WORTH_NAMING,
} from './late-patterns.js';
import { latePlaces } from './late-places.js';

export type Pattern = SingleRankPattern | 'rotating' | 'host' | 'stage';
export type Cause = OwnCause | 'link' | 'unknown';

export interface LateRanks {
  /** Empty: a rotating imbalance. */
  readonly ranks: readonly number[];
  readonly pattern: Pattern;
  readonly cause: Cause;
  /** ns a step that the others wait for it. */
  readonly cost: Ns;
  readonly confidence: number;
  /** Of a place: the host's name, or the axis. */
  readonly place: string | null;
  /** Steps in which it was last, by index. */
  readonly steps: readonly number[];
  /** Where telemetry shows that its GPU was slow. */
  readonly slowGpu?: SlowGpu;
}

/** Who is late, in what pattern, why, and what it costs; nobody where nobody stands out. */
export function findLateRanks(table: RankTable): LateRanks[] {
  if (table.ranks.length < 2 || table.steps.length < 1) return [];
  const lateness = latenessOf(table);
  const places = latePlaces(table, lateness);
  if (places.length > 0) return places.map((p) => ({ ...p, cause: causeOf(table, p.ranks, null) }));
  const differences = differencesOf(table, lateness);
  const single = singleRanks(table, differences);
  const group = lateGroup(table, differences);
  if (group && group.cost > MORE_TOGETHER * largest([0, ...single.map((l) => l.cost)]))
    return [
      {
        ...{ ...group, pattern: 'persistent', place: null, cause: causeOf(table, group.ranks, group.steps) },
        steps: group.steps.map((s) => table.steps[s]!),
      },
    ];
  // Where another one is late each time, one of them may well seem to come back.
  const rotating = single.some((l) => l.pattern === 'persistent') ? null : rotation(table, differences);
  return rotating ? [rotating] : single;
}

/** Several that are late alike are named together if that explains so many times more than any of them alone. */
const MORE_TOGETHER = 1.5;

function singleRanks(table: RankTable, differences: Differences): LateRanks[] {
  return table.ranks
    .flatMap((rank, r) => {
      const found = patternOf(table, differences, r);
      return found ? [{ rank, r, ...found }] : [];
    })
    .map(({ rank, r, steps, ...found }) => ({
      ...found,
      ranks: [rank],
      place: null,
      steps: steps.map((s) => table.steps[s]!),
      cause: causeOf(table, [rank], steps),
      cost: costOf(table, r),
    }))
    .filter((f) => f.cost >= (WORTH_NAMING * table.step) / table.steps.length)
    .sort((a, b) => oneOff(a) - oneOff(b) || b.cost - a.cost);
}

/** What comes back is worth more than what happened once, whatever that cost the few steps that were recorded. */
const oneOff = ({ pattern }: LateRanks) => Number(pattern === 'spike');

/** ns by which each rank's own time exceeds the median rank's, step by step. */
export function latenessOf({ own, steps }: RankTable): Float64Array[] {
  const usual = steps.map((_, s) => median(own.map((o) => o[s]!)));
  return own.map((o) => o.map((ns, s) => ns - usual[s]!));
}

/** ns a step that all could be faster without this rank: up to where the next one arrives. */
function costOf({ own, steps }: RankTable, r: number): Ns {
  const saved = steps.map((_, s) => {
    const others = largest(own.filter((_, q) => q !== r).map((o) => o[s]!));
    return Math.max(0, own[r]![s]! - others);
  });
  return ns(mean(saved));
}

/** The class of time in which the late ones exceed the median rank most. */
export function causeOf(table: RankTable, late: readonly number[], steps: readonly number[] | null): Cause {
  const counted = steps ?? table.steps.map((_, s) => s);
  const totals = table.ranks.map((_, r) => {
    const sum = { data: 0, gpu: 0, compile: 0, host: 0 };
    for (const s of counted) {
      const own = byCause(table.time[r]![s]!, table.inputCopies[r]!);
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

/** Of the steps: in so many somebody has to be late, for busy machines hold up one now and then; if that is much, in most. */
const NEARLY_ALWAYS = 0.75;
const MUCH = 0.25;

/** Somebody is always late, but each time another one: no bad rank, an imbalance in data or experts. */
function rotation(table: RankTable, { lateness, inSteps }: Differences): LateRanks | null {
  const n = table.steps.length;
  if (n < 4 || table.ranks.length < 3) return null;
  const losses = table.steps.map((_, s) => {
    const inStep = lateness.map((l) => l[s]!);
    const worst = largest(inStep);
    const last = inStep.indexOf(worst);
    const others = inStep.filter((_, r) => r !== last);
    const next = largest(others);
    // One is late, and the others come together: on shared cores they come early and late by as much.
    const alone = worst - next > next - smallest(others);
    return { step: s, ns: worst, last, isReal: alone && worst / inSteps[s]!.spread > STANDS_OUT };
  });
  const loss = mean(losses.map((l) => l.ns));
  const real = losses.filter((l) => l.isReal);
  const least = loss >= MUCH * table.step ? MOSTLY : NEARLY_ALWAYS;
  if (loss < WORTH_NAMING * table.step || real.length < least * n) return null;
  const byRank = table.ranks.map((_, r) =>
    real.filter((l) => l.last === r).reduce((sum, l) => sum + l.ns, 0),
  );
  if (evenness(byRank) < EVENLY) return null;
  const causes = real.map((l) => causeOf(table, [table.ranks[l.last]!], [l.step]));
  return {
    ...{ ranks: [], pattern: 'rotating', place: null, steps: table.steps, cost: ns(loss) },
    cause: mostCommon(causes),
    confidence: Math.min(0.9, 0.5 + 0.05 * real.length),
  };
}

/** As for half of eight ranks, or two of three, each as much as the other. */
const EVENLY = 0.6;

/** Entropy of shares, as a part of the most there could be: 0 all is one's, 1 all have the same. */
function evenness(amounts: readonly number[]): number {
  const sum = amounts.reduce((a, b) => a + b, 0);
  const shares = amounts.filter((a) => a > 0).map((a) => a / sum);
  return shares.reduce((bits, share) => bits - share * Math.log(share), 0) / Math.log(amounts.length);
}

function mostCommon<T>(values: readonly T[]): T {
  const counts = new Map<T, number>();
  for (const v of values) counts.set(v, (counts.get(v) ?? 0) + 1);
  return [...counts].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
}
