import { largest, mean } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { RankTable } from '../table/rank-table.js';
import { causeOf } from './cause.js';
import { lateGroup } from './late-group.js';
import { lateLocations } from './late-locations.js';
import type { LateRanks } from './late-ranks.js';
import { rotation } from './rotation.js';
import { patternOf } from './single-rank.js';
import { type LatenessSpread, latenessOf, spreadOf } from './spread.js';
import { leastCost } from './thresholds.js';

/** A group is named instead of single ranks where it costs this many times what the worst of them costs alone. Our choice. */
const GROUP_COSTS_MORE = 1.5;

/**
 * Who is late, in what pattern, why, and what it costs. The first of these that applies: a whole host or stage; several
 * ranks that are equally late; a different rank in each step; single ranks. Empty when nobody is late.
 */
export function findLateRanks(table: RankTable): LateRanks[] {
  if (table.ranks.length < 2 || table.steps.length < 1) return [];
  const lateness = latenessOf(table);
  const locations = lateLocations(table, lateness);
  if (locations.length > 0) return locations.map((l) => ({ ...l, cause: causeOf(table, l.ranks, null) }));
  const spread = spreadOf(table, lateness);
  const single = singleRanks(table, spread);
  const group = lateGroup(table, spread);
  if (group && group.cost > GROUP_COSTS_MORE * largest([0, ...single.map((l) => l.cost)]))
    return [
      {
        ...group,
        pattern: 'persistent',
        cause: causeOf(table, group.ranks, group.steps),
        location: null,
        steps: group.steps.map((s) => table.steps[s]!),
      },
    ];
  // Before single ranks: where ranks take turns, one of them may look periodic by chance.
  const rotating = single.some((l) => l.pattern === 'persistent') ? null : rotation(table, spread);
  return rotating ? [rotating] : single;
}

/** What recurs comes before what happened once: a spike costs the few recorded steps more than it costs the run. */
function singleRanks(table: RankTable, spread: LatenessSpread): LateRanks[] {
  const isSpike = ({ pattern }: LateRanks) => Number(pattern === 'spike');
  return table.ranks
    .flatMap((rank, r): LateRanks[] => {
      const found = patternOf(table, spread, r);
      if (!found) return [];
      const steps = found.steps.map((s) => table.steps[s]!);
      const cause = causeOf(table, [rank], found.steps);
      return [{ ...found, ranks: [rank], cause, cost: costOf(table, r), location: null, steps }];
    })
    .filter((late) => late.cost >= leastCost(late.steps.length, table.steps.length) * table.step)
    .sort((a, b) => isSpike(a) - isSpike(b) || b.cost - a.cost);
}

/** Time per step that the run would save if this rank were as fast as the next slowest. */
function costOf({ own, steps }: RankTable, r: number): Ns {
  const saved = steps.map((_, s) => {
    const others = largest(own.filter((_, other) => other !== r).map((o) => o[s]!));
    return Math.max(0, own[r]![s]! - others);
  });
  return ns(mean(saved));
}
