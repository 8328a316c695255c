import { largest, smallest } from '../../base/statistics.js';
import type { DumpedCall, DumpedGroup } from '../../model/flight-dump.js';
import type { RasCommunicator, RasRank, RasStatus } from '../../model/ras-status.js';
import type { RankProfile } from './process-stacks.js';
import type { RankDump } from './progress.js';

/** The same job as dumps and stacks would show it. */
export interface RasEvidence {
  readonly dumps: readonly RankDump[];
  /** Processes that did not answer. */
  readonly silent: readonly RankProfile[];
  /** There is one answer, and it shows nothing by itself. */
  readonly isOneLook: boolean;
}

const NOTHING: RasEvidence = { dumps: [], silent: [], isOneLook: false };

/**
 * Collectives outpace RAS, so counts differ in healthy jobs too: only those count that are the same in two answers, or where a
 * rank does not answer at all.
 */
export function rasEvidence(statuses: readonly RasStatus[]): RasEvidence {
  const [before, last] = statuses.toSorted((a, b) => (a.at < b.at ? -1 : 1)).slice(-2);
  const newest = last ?? before;
  if (!newest) return NOTHING;
  const world = worldOf(newest);
  if (!world) return { ...NOTHING, isOneLook: !last };
  const old = new Map((last ? before!.communicators : []).map((c) => [c.hash, JSON.stringify(c.ranks)]));
  const stuck = newest.communicators.filter(
    (c) => c.ranks.some((r) => !r.launched) || old.get(c.hash) === JSON.stringify(c.ranks),
  );
  const calls = new Map<number, DumpedCall[]>();
  const groups = new Map<number, DumpedGroup[]>();
  for (const [i, communicator] of stuck.entries()) waitsIn(communicator, `${i}`, world, calls, groups);
  const answered = [...new Set(stuck.flatMap((c) => c.ranks.filter((r) => r.launched)))].map((r) => world(r));
  const absent = new Map(stuck.flatMap((c) => c.ranks.filter((r) => !r.launched)).map((r) => [world(r), r]));
  return {
    isOneLook: !last && stuck.length === 0,
    dumps: [...new Set(answered)].map((rank) => ({
      rank,
      dump: { groups: groups.get(rank) ?? [], calls: calls.get(rank) ?? [] },
    })),
    silent: [...absent].map(([rank, { pid, isDead }]) => ({
      rank,
      profile: { kind: 'dump', pid, command: '', rank, state: isDead ? 'gone' : 'silent', threads: [] },
    })),
  };
}

const keyOf = ({ host, pid, device }: RasRank) => `${host} ${pid} ${device}`;

/** Ranks of the job, by the communicator that all its processes are in. Null: there is none, so nobody's rank is known. */
function worldOf({ communicators }: RasStatus): ((rank: RasRank) => number) | null {
  const all = new Set(communicators.flatMap((c) => c.ranks.map(keyOf)));
  const whole = communicators.find((c) => c.ranks.length === all.size);
  if (!whole) return null;
  const ranks = new Map(whole.ranks.map((r) => [keyOf(r), r.rank]));
  return (rank) => ranks.get(keyOf(rank))!;
}

const launchedBy = ({ launched }: RasRank) => Object.values(launched ?? {}).reduce((a, b) => a + b, 0);

/** Ranks that launched more than another wait for it, in the collective after the last one of that rank. */
function waitsIn(
  { ranks, size }: RasCommunicator,
  name: string,
  world: (rank: RasRank) => number,
  calls: Map<number, DumpedCall[]>,
  groups: Map<number, DumpedGroup[]>,
): void {
  const there = ranks.filter((r) => r.launched);
  const [least, most] = [smallest(there.map(launchedBy)), largest(there.map(launchedBy))];
  const isMissing = there.length < ranks.length;
  const members = ranks.toSorted((a, b) => a.rank - b.rank).map(world);
  const description = `a communicator of ${size} ranks`;
  for (const rank of there) {
    const own = world(rank);
    const count = launchedBy(rank);
    const group = { name, description, ranks: members, entered: count };
    groups.set(own, [...(groups.get(own) ?? []), group]);
    const waits = isMissing ? count === most : count > least;
    if (!waits || count === 0) continue;
    const sequence = isMissing ? count : least + 1;
    const call = { ...CALL, group: name, description, sequence, name: kindAhead(rank, there) };
    calls.set(own, [...(calls.get(own) ?? []), call]);
  }
}

const CALL = {
  peer: null,
  sizes: '',
  types: '',
  isDone: false,
  enteredNs: null,
  durationMs: null,
  calledFrom: null,
} as const;

/** The kind that it launched more often than others did. */
function kindAhead({ launched }: RasRank, others: readonly RasRank[]): string {
  const kinds = Object.entries(launched ?? {});
  const ahead = kinds.find(([kind, count]) => others.some((o) => (o.launched?.[kind] ?? 0) < count));
  return ahead?.[0] ?? 'collective';
}
