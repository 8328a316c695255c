import type { EventLogRun } from '../model/event-log.js';
import { logOf } from './member.js';
import type { RankedMember } from './ranks.js';

interface LoggedRun {
  readonly id: string;
  readonly ranks: Set<number>;
  readonly worldSize: number;
  began: number;
}

/** Clocks of machines differ, so events closer together than this count as simultaneous. */
const CLOCK_TOLERANCE_NS = 60e9;

/**
 * Without a run id from the launcher, each rank makes one up. Logs of different ranks with the same world size that began
 * at the same time are one run. It gets the id of the first of them.
 */
export function commonNames(members: readonly RankedMember[]): (id: string) => string {
  const logged = new Map<string, LoggedRun>();
  for (const { rank, member } of members) {
    for (const run of logOf(member)?.runs ?? []) {
      const { id } = run;
      if (id === null) continue;
      const worldSize = Number(run.header?.fields.world_size ?? 0);
      const one = logged.get(id) ?? { id, ranks: new Set(), worldSize, began: Number.NaN };
      one.ranks.add(rank);
      one.began = startOf(run) ?? one.began;
      logged.set(id, one);
    }
  }
  const names = new Map<string, string>();
  const distinct: LoggedRun[] = [];
  for (const run of logged.values()) {
    const same = distinct.find((other) => isSameRun(run, other));
    names.set(run.id, same?.id ?? run.id);
    if (same) for (const rank of run.ranks) same.ranks.add(rank);
    else distinct.push(run);
  }
  return (id) => names.get(id) ?? id;
}

const isSameRun = (a: LoggedRun, b: LoggedRun) =>
  a.worldSize > 1 &&
  a.worldSize === b.worldSize &&
  Math.abs(a.began - b.began) < CLOCK_TOLERANCE_NS &&
  [...a.ranks].every((rank) => !b.ranks.has(rank));

/** From the header of an event log, which is kept as it was written. Nanoseconds since 1970. */
export function startOf({ header }: EventLogRun): number | null {
  const anchors = header?.fields.anchors;
  const first: unknown = Array.isArray(anchors) ? anchors[0] : null;
  const wall = (first as { wall_ns?: unknown } | null)?.wall_ns;
  return typeof wall === 'number' && Number.isFinite(wall) ? wall : null;
}
