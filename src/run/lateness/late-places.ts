import { mean, median } from '../../base/statistics.js';
import { type Ns, ns } from '../../base/units.js';
import type { RankTable } from '../table/own-time.js';

/** All ranks of a place are late together: a machine, or a stage of the pipeline. */
interface LatePlace {
  readonly ranks: readonly number[];
  readonly pattern: 'host' | 'stage';
  readonly place: string;
  readonly cost: Ns;
  readonly confidence: number;
  readonly steps: readonly number[];
}

/** Of the differences between ranks, what the place must explain. */
const EXPLAINS = 0.8;
const WORTH_NAMING = 0.05;
/** Ranks at a place, and places, for there to be a comparison. */
const LEAST_RANKS = 2;
const LEAST_PLACES = 2;

/** Stages do different work by design; ranks along other axes do the same. */
const PIPELINE = /^(?:pp|pipe|pipeline|stage)/i;

/**
 * Where ranks are late together. When a machine holds just the ranks of a place on an axis, nothing tells which of the
 * two it is: a stage of a pipeline is taken for uneven, else the machine for slow, and both are named.
 */
export function latePlaces(table: RankTable, lateness: readonly Float64Array[]): LatePlace[] {
  const host = lateHost(table, lateness);
  const axis = lateAxis(table, lateness);
  if (!host || !axis || host.ranks.join() !== axis.ranks.join())
    return [host, axis].filter((p) => p !== null);
  const [first, second] = PIPELINE.test(axis.place) ? [axis, host] : [host, axis];
  return [{ ...first, place: `${first.place} (${second.place})` }];
}

function lateHost(table: RankTable, lateness: readonly Float64Array[]): LatePlace | null {
  if (table.hosts.some((h) => h === null)) return null;
  const found = latePlace(table, lateness, table.hosts as readonly string[]);
  return found && { ...found, pattern: 'host' };
}

/** Along which axis of the mesh ranks are late together. */
function lateAxis(table: RankTable, lateness: readonly Float64Array[]): LatePlace | null {
  const axes = Object.keys(table.coordinates[0] ?? {});
  for (const axis of axes) {
    const keys = table.coordinates.map((c) => `${axis} ${c?.[axis] ?? '?'}`);
    const found = latePlace(table, lateness, keys);
    if (found) return { ...found, pattern: 'stage' };
  }
  return null;
}

function latePlace(table: RankTable, lateness: readonly Float64Array[], keys: readonly string[]) {
  const means = lateness.map((l) => mean([...l]));
  const byKey = placesByKey(keys);
  const groups = [...byKey].filter(([, members]) => members.length >= LEAST_RANKS);
  if (groups.length < LEAST_PLACES || groups.length < byKey.size) return null;
  const [place, members] = groups.reduce((a, b) =>
    mean(b[1].map((r) => means[r]!)) > mean(a[1].map((r) => means[r]!)) ? b : a,
  );
  const inside = members.map((r) => means[r]!);
  const outside = means.filter((_, r) => !members.includes(r));
  const excess = Math.min(...inside) - Math.max(...outside);
  // Every one of them is later than every other rank, and by enough.
  if (excess < WORTH_NAMING * table.step || explained(means, keys) < EXPLAINS) return null;
  return {
    ...{ place, ranks: members.map((r) => table.ranks[r]!), steps: table.steps },
    cost: ns(median(inside) - median(outside)),
    confidence: 0.85,
  };
}

/** Share of the variance between ranks that lies between places. */
function explained(values: readonly number[], keys: readonly string[]): number {
  const all = mean(values);
  const total = values.reduce((n, v) => n + (v - all) ** 2, 0);
  const groups = [...placesByKey(keys).values()].map((places) => places.map((i) => values[i]!));
  const between = groups.reduce((n, group) => n + group.length * (mean(group) - all) ** 2, 0);
  return total > 0 ? between / total : 0;
}

function placesByKey(keys: readonly string[]): Map<string, number[]> {
  const byKey = new Map<string, number[]>();
  for (const [place, key] of keys.entries()) byKey.set(key, [...(byKey.get(key) ?? []), place]);
  return byKey;
}
