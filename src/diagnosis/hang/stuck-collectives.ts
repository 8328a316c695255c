import { groupBy } from '../../base/group-by.js';
import { largest, smallest } from '../../base/statistics.js';
import type { DumpedCollective, FlightDump } from '../../model/flight-dump.js';

/** A collective in which ranks wait, and who is not there. */
export interface StuckCollective {
  readonly group: string;
  readonly sequence: number;
  /** `nccl:all_reduce`. */
  readonly name: string;
  readonly calledFrom: string | null;
  /** Ranks that have entered it and do not get out. */
  readonly waiting: readonly number[];
  /** Ranks that have not entered it, as their dumps show. */
  readonly missing: readonly MissingRank[];
  /** Members of the group without a dump: their process may be gone. */
  readonly unknown: readonly number[];
  /** What each kind of call was, if ranks entered different ones. Empty: they agree. */
  readonly different: readonly { readonly call: string; readonly ranks: readonly number[] }[];
}

export interface MissingRank {
  readonly rank: number;
  /** Null: it entered no collective of the group. */
  readonly last: DumpedCollective | null;
}

export interface RankDump {
  readonly rank: number;
  readonly dump: FlightDump;
}

/** Collectives that some ranks entered and never left, one per group, in order of time. */
export function stuckCollectives(dumps: readonly RankDump[]): readonly StuckCollective[] {
  const dumped = new Set(dumps.map((d) => d.rank));
  const groups = new Map<string, Map<number, DumpedCollective[]>>();
  for (const { rank, dump } of dumps)
    for (const [group, collectives] of groupBy(dump.collectives, (c) => c.group)) {
      const ofGroup = groups.get(group) ?? new Map<number, DumpedCollective[]>();
      ofGroup.set(rank, collectives);
      groups.set(group, ofGroup);
    }
  return [...groups]
    .flatMap(([group, byRank]) => stuckIn(group, byRank, membersOf(group, dumps), dumped) ?? [])
    .sort((a, b) => a.enteredNs - b.enteredNs)
    .map(({ stuck }) => stuck);
}

/** All members that any dump names. Without that, ranks whose dump has a collective of the group. */
function membersOf(group: string, dumps: readonly RankDump[]): readonly number[] {
  return dumps.flatMap(({ dump }) => dump.groups.find((g) => g.name === group)?.ranks ?? []);
}

function stuckIn(
  group: string,
  byRank: ReadonlyMap<number, readonly DumpedCollective[]>,
  members: readonly number[],
  dumped: ReadonlySet<number>,
): { readonly stuck: StuckCollective; readonly enteredNs: number } | null {
  const pending = [...byRank].flatMap(([rank, all]) =>
    all.filter((c) => !c.isDone).map((collective) => ({ rank, collective })),
  );
  if (pending.length === 0) return null;
  // Later ones only queue behind the first.
  const sequence = smallest(pending.map((p) => p.collective.sequence));
  const here = pending.filter((p) => p.collective.sequence === sequence);
  const first = here[0]!.collective;
  const lastOf = (rank: number) => byRank.get(rank)?.at(-1) ?? null;
  const all = new Set([...members, ...byRank.keys()]);
  const isMissing = (rank: number) => dumped.has(rank) && (lastOf(rank)?.sequence ?? 0) < sequence;
  return {
    stuck: {
      group: first.description || group || 'the default group',
      sequence,
      name: first.name,
      calledFrom: first.calledFrom,
      waiting: ascending(here.map((p) => p.rank)),
      missing: ascending([...all].filter(isMissing)).map((rank) => ({ rank, last: lastOf(rank) })),
      unknown: ascending([...all].filter((rank) => !dumped.has(rank))),
      different: differentCalls(byRank, sequence),
    },
    enteredNs: largest(here.map((p) => p.collective.enteredNs ?? 0)),
  };
}

const ascending = (ranks: readonly number[]) => ranks.toSorted((a, b) => a - b);

/** Collectives that gather or scatter may have other sizes on each rank. */
const SIZES_DIFFER = /gather|scatter|all_?to_?all|broadcast|:reduce$/;

function differentCalls(byRank: ReadonlyMap<number, readonly DumpedCollective[]>, sequence: number) {
  const calls = [...byRank].flatMap(([rank, all]) => {
    const at = all.find((c) => c.sequence === sequence);
    if (!at) return [];
    return [{ rank, call: SIZES_DIFFER.test(at.name) ? at.name : `${at.name} ${at.sizes}`.trim() }];
  });
  const kinds = groupBy(calls, (c) => c.call);
  if (kinds.size < 2) return [];
  return [...kinds].map(([call, of]) => ({ call, ranks: ascending(of.map((c) => c.rank)) }));
}
