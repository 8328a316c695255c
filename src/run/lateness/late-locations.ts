import { groupBy } from '../../base/group-by.js';
import { largest, mean, median, smallest } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { RankTable } from '../table/rank-table.js';
import { LATE_SHARE } from './thresholds.js';

/** All ranks of one host, or at one coordinate of a mesh axis, are late together. */
interface LateLocation {
  readonly pattern: 'host' | 'stage';
  /** `node-3`, `pp 1`, or both: `pp 1 (node-3)`. */
  readonly location: string;
  readonly ranks: readonly number[];
  readonly cost: Ns;
  readonly confidence: number;
  /** Numbers of the steps. */
  readonly steps: readonly number[];
}

/** Share of the variance between ranks that the location must explain. Our choice; tested on simulated meshes. */
const LEAST_EXPLAINED = 0.8;
/** A location needs two ranks, and another location to compare it with. */
const LEAST_RANKS = 2;
const LEAST_LOCATIONS = 2;

/** Stages of a pipeline do different work by design; ranks along other axes do the same work. */
const PIPELINE = /^(?:pp|pipe|pipeline|stage)/i;

/**
 * Hosts and mesh coordinates whose ranks are late together. Where a host holds exactly the ranks of a coordinate, nothing
 * tells which of the two is to blame: an uneven stage for pipelines, a slow host otherwise. Both are named.
 */
export function lateLocations(table: RankTable, lateness: readonly Float64Array[]): LateLocation[] {
  const host = lateHost(table, lateness);
  const stage = lateStage(table, lateness);
  if (!host || !stage || host.ranks.join() !== stage.ranks.join())
    return [host, stage].filter((found) => found !== null);
  const [first, second] = PIPELINE.test(stage.location) ? [stage, host] : [host, stage];
  return [{ ...first, location: `${first.location} (${second.location})` }];
}

function lateHost(table: RankTable, lateness: readonly Float64Array[]): LateLocation | null {
  if (table.hosts.includes(null)) return null;
  return lateLocation(table, lateness, 'host', table.hosts as readonly string[]);
}

/** On the first mesh axis that has a late coordinate. */
function lateStage(table: RankTable, lateness: readonly Float64Array[]): LateLocation | null {
  for (const axis of Object.keys(table.coordinates[0] ?? {})) {
    const locations = table.coordinates.map((c) => `${axis} ${c?.[axis] ?? '?'}`);
    const found = lateLocation(table, lateness, 'stage', locations);
    if (found) return found;
  }
  return null;
}

/** `locations`: of each rank. */
function lateLocation(
  table: RankTable,
  lateness: readonly Float64Array[],
  pattern: 'host' | 'stage',
  locations: readonly string[],
): LateLocation | null {
  const means = lateness.map((l) => mean([...l]));
  const groups = groupBy(means.keys(), (r) => locations[r]!);
  if (groups.size < LEAST_LOCATIONS || [...groups.values()].some((g) => g.length < LEAST_RANKS)) return null;
  const meanOf = (members: readonly number[]) => mean(members.map((r) => means[r]!));
  const [location, members] = [...groups].reduce((a, b) => (meanOf(b[1]) > meanOf(a[1]) ? b : a));
  const inside = members.map((r) => means[r]!);
  const outside = means.filter((_, r) => !members.includes(r));
  // Each of its ranks must be later than every other rank.
  if (smallest(inside) - largest(outside) < LATE_SHARE * table.step) return null;
  if (explainedShare(means, [...groups.values()]) < LEAST_EXPLAINED) return null;
  return {
    pattern,
    location,
    ranks: members.map((r) => table.ranks[r]!),
    cost: ns(median(inside) - median(outside)),
    confidence: 0.85,
    steps: table.steps,
  };
}

/** Share of the variance of values that lies between groups (of indices). */
function explainedShare(values: readonly number[], groups: readonly (readonly number[])[]): number {
  const all = mean(values);
  const total = values.reduce((sum, v) => sum + (v - all) ** 2, 0);
  const between = groups.reduce(
    (sum, group) => sum + group.length * (mean(group.map((i) => values[i]!)) - all) ** 2,
    0,
  );
  return total > 0 ? between / total : 0;
}
