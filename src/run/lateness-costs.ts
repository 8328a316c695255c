import { ns } from '../base/units.js';
import { areRegular } from '../logs/pace.js';
import type { CollectiveWaits } from './collectives/waits.js';
import { knownCost, type LateRanks } from './lateness/late-ranks.js';
import { LATE_SHARE, leastCost } from './lateness/lateness.js';
import type { PlayedRun } from './paths/what-if-ranks.js';
import type { RankTable } from './table/rank-table.js';

/** A delay that costs less than this share of the steps it is in is not reported: it is within the noise of real runs. */
const LEAST_COST = 0.01;

/** What late ranks cost, from a replay where there is one; delays that cost next to nothing are left out. */
export function withCosts(
  late: readonly LateRanks[],
  table: RankTable,
  waits: CollectiveWaits,
  played: PlayedRun | null,
): LateRanks[] {
  const isWorthIt = ({ pattern, steps }: LateRanks, cost: number, step: number) => {
    const [inSteps, all] = [steps.length, table.steps.length];
    const isRare = pattern === 'spike' || pattern === 'periodic';
    return cost >= step * (isRare ? leastCost(inSteps, all) : (LEAST_COST * inSteps) / all);
  };
  return late.flatMap((l) => {
    if (played) {
      // Without the delay another rank may be next, or a pipeline bubble may have hidden part of it.
      const cost = l.ranks.length > 0 ? played.without(l.ranks) : ns(Math.min(l.cost, played.withoutAny));
      return isWorthIt(l, cost, played.measured) ? [{ ...l, cost }] : [];
    }
    if (!table.fromLogs) return [l];
    // Logs are not replayed. A delay may hide behind a transfer, so it costs no more than others were seen to wait for it.
    const caused = waits.ranks.filter((r) => l.ranks.includes(r.rank)).reduce((sum, r) => sum + r.caused, 0);
    const most = l.ranks.length > 0 ? ns(Math.min(l.cost, caused / table.steps.length)) : l.cost;
    if (l.ranks.length > 0 && !isWorthIt(l, most, table.recorded)) return [];
    const cost = knownCost(table, l, most);
    return most - cost < LATE_SHARE * table.recorded ? [{ ...l, cost }] : [{ ...l, cost, mayCost: most }];
  });
}

/** Time by which a recorded step is longer than the average step of the run. */
export const beyondPace = (table: RankTable, pace: number) => ns(Math.max(0, table.recorded - pace));

/**
 * The cost per step of the run, not per recorded step. Where every n-th step is recorded and those are longer than the
 * average, a rank that is late in all of them is not late in the steps between: it is periodic. Where any step may be
 * recorded, a rank that is late in most recorded steps is late in most steps.
 */
export function atRunPace(late: LateRanks, table: RankTable, pace: number): LateRanks[] {
  const beyond = beyondPace(table, pace);
  if (beyond === 0 || (late.pattern === 'persistent' && !areRegular(table.steps))) return [late];
  const cost = ns(Math.max(0, late.cost - beyond));
  const most = ns((late.mayCost ?? late.cost) - beyond);
  if (most < LEAST_COST * pace) return [];
  const pattern = late.pattern === 'persistent' ? 'periodic' : late.pattern;
  return [{ ...late, cost, mayCost: late.mayCost && most, pattern }];
}
