import { groupBy } from '../../base/group-by.js';
import { largest } from '../../base/statistics.js';
import type { DumpedCall, FlightDump } from '../../model/flight-dump.js';

export interface RankDump {
  readonly rank: number;
  readonly dump: FlightDump;
}

/** How far one rank got in one group. */
interface InGroup {
  /** The last collective that it entered. Null: unknown. */
  readonly entered: number | null;
  /** The last that it is done with, and all before it. Null: unknown. */
  readonly done: number | null;
  /** Collectives, by sequence number. */
  readonly calls: ReadonlyMap<number, DumpedCall>;
}

/** How far one rank got. */
export interface Progress {
  readonly rank: number;
  /** What it entered and is not done with, oldest first. */
  readonly pending: readonly DumpedCall[];
  /** All that the recorder still has, in the order in which they were entered. */
  readonly calls: readonly DumpedCall[];
  /** The last that it entered. Null: none is left. */
  readonly last: DumpedCall | null;
  readonly in: (group: string) => InGroup;
}

/** How far all ranks with a dump got, and who is in which group. */
export interface JobProgress {
  readonly ranks: ReadonlyMap<number, Progress>;
  /** Ranks that left no dump, as far as groups and the numbers of the others tell. */
  readonly undumped: readonly number[];
  /** Members of a group, by their position in it. */
  readonly members: (group: string) => readonly number[];
  /** Whether the dumps name them all. Gloo's do not. */
  readonly knowsMembers: (group: string) => boolean;
}

export function jobProgress(dumps: readonly RankDump[]): JobProgress {
  const ranks = new Map(dumps.map(({ rank, dump }) => [rank, progressOf(rank, dump)] as const));
  const named = new Map<string, readonly number[]>();
  const callers = new Map<string, number[]>();
  for (const { rank, dump } of dumps)
    for (const group of dump.groups) {
      if (group.ranks.length > 0) named.set(group.name, group.ranks);
      const known = callers.get(group.name);
      if (known) known.push(rank);
      else callers.set(group.name, [rank]);
    }
  const world = largest([...ranks.keys(), ...[...named.values()].flat()]) + 1;
  const everyone = Array.from(
    { length: Number.isFinite(world) ? Math.min(world, MAX_RANKS) : 0 },
    (_, i) => i,
  );
  const isDefault = new Set(
    dumps.flatMap(({ dump }) => dump.groups.filter((g) => g.description === 'default_pg').map((g) => g.name)),
  );
  return {
    ranks,
    undumped: everyone.filter((rank) => !ranks.has(rank)),
    members: (group) =>
      named.get(group) ?? (isDefault.has(group) ? everyone : (callers.get(group) ?? []).toSorted(ascending)),
    knowsMembers: (group) => named.has(group) || isDefault.has(group),
  };
}

const MAX_RANKS = 1 << 20;
export const ascending = (a: number, b: number): number => a - b;

/**
 * The collectives of a group end in their order, so one is over if a later one is done. Gloo's recorder sometimes misses that a
 * short call has ended.
 */
function overIn({ calls }: FlightDump): (call: DumpedCall) => boolean {
  const last = new Map<string, number>();
  for (const { group, peer, isDone, sequence } of calls)
    if (isDone && peer === null) last.set(group, Math.max(last.get(group) ?? 0, sequence));
  return (c) => c.isDone || (c.peer === null && c.sequence < (last.get(c.group) ?? 0));
}

function progressOf(rank: number, dump: FlightDump): Progress {
  const statusOf = new Map(dump.groups.map((g) => [g.name, g.entered]));
  const groups = new Map<string, InGroup>();
  const isOver = overIn(dump);
  for (const [name, calls] of groupBy(
    dump.calls.filter((c) => c.peer === null),
    (c) => c.group,
  )) {
    const entered = largest(calls.map((c) => c.sequence));
    const firstPending = calls.reduce(
      (least, c) => (isOver(c) ? least : Math.min(least, c.sequence)),
      Infinity,
    );
    groups.set(name, {
      entered,
      done: Math.min(entered, firstPending - 1),
      calls: new Map(calls.map((c) => [c.sequence, c])),
    });
  }
  return {
    rank,
    calls: dump.calls,
    pending: dump.calls.filter((c) => !isOver(c)),
    last: dump.calls.at(-1) ?? null,
    // Nothing of the group is pending, so the rank is done with what it entered.
    in: (name) => {
      const entered = statusOf.get(name) ?? null;
      return groups.get(name) ?? { entered, done: entered, calls: new Map() };
    },
  };
}
