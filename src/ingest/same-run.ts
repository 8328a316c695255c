import { logOf } from './input.js';
import type { RankedInput } from './ranks.js';

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
export function commonNames(members: readonly RankedInput[]): (id: string) => string {
  const logged = new Map<string, LoggedRun>();
  for (const { rank, member } of members) {
    for (const run of logOf(member)?.runs ?? []) {
      const { id } = run;
      if (id === null) continue;
      const worldSize = run.header?.worldSize ?? 0;
      const one = logged.get(id) ?? { id, ranks: new Set(), worldSize, began: Number.NaN };
      one.ranks.add(rank);
      one.began = run.header?.startedNs ?? one.began;
      logged.set(id, one);
    }
  }
  const names = new Map<string, string>();
  // By world size and minute, so that each run is compared with few others.
  const distinct = new Map<string, LoggedRun[]>();
  const keyOf = ({ worldSize, began }: LoggedRun, minutes: number) =>
    `${worldSize} ${Math.floor(began / CLOCK_TOLERANCE_NS) + minutes}`;
  for (const run of logged.values()) {
    const near =
      run.worldSize > 1 ? [-1, 0, 1].flatMap((minutes) => distinct.get(keyOf(run, minutes)) ?? []) : [];
    const same = near.find((other) => isSameRun(run, other));
    names.set(run.id, same?.id ?? run.id);
    const alike = distinct.get(keyOf(run, 0)) ?? [];
    if (same) for (const rank of run.ranks) same.ranks.add(rank);
    else if (run.worldSize > 1) alike.push(run);
    distinct.set(keyOf(run, 0), alike);
  }
  return (id) => names.get(id) ?? id;
}

const isSameRun = (a: LoggedRun, b: LoggedRun) =>
  Math.abs(a.began - b.began) < CLOCK_TOLERANCE_NS && [...a.ranks].every((rank) => !b.ranks.has(rank));
