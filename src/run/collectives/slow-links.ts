import { groupBy } from '../../base/group-by.js';
import { mediansOfOthers } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { Bandwidth } from './bandwidth.js';
import { isWhole, type MatchedCollectives } from './matched.js';

/** A group whose transfers take longer than those of its siblings. */
export interface SlowGroup {
  /** Index in `MatchedCollectives.groups`. */
  readonly group: number;
  readonly kind: string;
  readonly gbps: number;
  readonly usualGbps: number;
  /** What its siblings take, as a share of what it takes. */
  readonly usualShare: number;
  /** Time per step beyond its siblings. */
  readonly cost: Ns;
}

/** A slow group takes this many times as long as its siblings. Those of healthy groups differ by a few percent. */
export const SLOWER = 1.5;
/** The least cost worth naming, as a share of the step. Our choice. */
const LEAST_COST = 0.02;

/** Groups along one mesh axis have ranks the same distance apart. Groups along another axis may cross hosts. */
function strideOf(matched: MatchedCollectives, group: number): number {
  const [first, second] = matched.groups[group]!.captured.map((index) => matched.ranks[index]!);
  return second === undefined ? 0 : second - first!;
}

/** Siblings are groups of the same size and stride that run the same kind of collective on about as many bytes. */
export function findSlowLinks(
  matched: MatchedCollectives,
  bandwidth: readonly Bandwidth[],
  step: Ns,
  steps: number,
): SlowGroup[] {
  const families = groupBy(
    bandwidth.filter((b) => isWhole(matched.groups[b.group]!)),
    (b) => `${b.kind} ${b.fromBytes} ${matched.groups[b.group]!.size} ${strideOf(matched, b.group)}`,
  );
  const slow = [...families.values()].flatMap((family) => {
    const others = mediansOfOthers(family.map((b) => b.transferMedian));
    return family.flatMap((b, i): SlowGroup[] => {
      const usual = others[i]!;
      const cost = ns(((b.transferMedian - usual) * b.instances) / steps);
      // Without siblings `usual` is NaN.
      if (!(b.transferMedian >= SLOWER * usual && cost >= LEAST_COST * step)) return [];
      const gbps = b.gbPerSecond ?? Number.NaN;
      const usualGbps = (gbps * b.transferMedian) / usual;
      return [{ group: b.group, kind: b.kind, gbps, usualGbps, usualShare: usual / b.transferMedian, cost }];
    });
  });
  // One row per group: the kind that costs most.
  const byGroup = groupBy(
    slow.sort((a, b) => b.cost - a.cost),
    (s) => s.group,
  );
  return [...byGroup.values()].map(([worst]) => worst!);
}
