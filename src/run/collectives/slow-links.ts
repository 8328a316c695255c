import { median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { Bandwidth } from './bandwidth.js';
import type { MatchedCollectives } from './matched.js';

/** A group whose transfers take longer than those of its siblings. */
export interface SlowGroup {
  /** Place in `MatchedCollectives.groups`. */
  readonly group: number;
  readonly kind: string;
  readonly gbps: number;
  readonly usualGbps: number;
  /** ns a step beyond its siblings. */
  readonly cost: Ns;
}

/** Transfers of healthy siblings differ by a few per cent. */
const SLOWER = 1.5;
const WORTH_NAMING = 0.02;

/** Groups along one axis of a mesh have ranks the same distance apart: those of another may cross hosts. */
function strideOf(matched: MatchedCollectives, group: number): number {
  const [first, second] = matched.groups[group]!.captured.map((place) => matched.ranks[place]!);
  return second === undefined ? 0 : second - first!;
}

/** Siblings: groups of the same size and stride that do the same kind of collective with about as many bytes. */
export function findSlowLinks(
  matched: MatchedCollectives,
  bandwidth: readonly Bandwidth[],
  step: number,
  steps: number,
): SlowGroup[] {
  const families = new Map<string, Bandwidth[]>();
  for (const b of bandwidth) {
    const key = `${b.kind} ${b.fromBytes} ${matched.groups[b.group]!.size} ${strideOf(matched, b.group)}`;
    families.set(key, [...(families.get(key) ?? []), b]);
  }
  const slow: SlowGroup[] = [];
  for (const family of families.values()) {
    if (family.length < 2) continue;
    for (const b of family) {
      const usual = median(family.filter((o) => o !== b).map((o) => o.transferMedian));
      const cost = ns(((b.transferMedian - usual) * b.instances) / steps);
      if (b.transferMedian < SLOWER * usual || cost < WORTH_NAMING * step) continue;
      const gbps = b.gbPerSecond?.median ?? Number.NaN;
      slow.push({
        ...{ group: b.group, kind: b.kind, gbps, cost },
        usualGbps: (gbps * b.transferMedian) / usual,
      });
    }
  }
  // Of one group the kind that costs most speaks.
  return slow
    .sort((a, b) => b.cost - a.cost)
    .filter((s, i, all) => all.findIndex((o) => o.group === s.group) === i);
}
