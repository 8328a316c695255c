import { groupBy } from '../../base/group-by.js';
import type { DumpedCall } from '../../model/flight-dump.js';
import { blame } from './blame.js';
import { type DifferentCalls, differentCalls, unprecedented } from './different-calls.js';
import { ascending, type JobProgress, jobProgress, type RankDump } from './progress.js';
import { REASONS, type Reason, type Wait, waitsOf } from './waits.js';

export type { DumpedCall } from '../../model/flight-dump.js';

/** Ranks that wait for the same others in the same call. */
export interface WaitingRanks {
  readonly ranks: readonly number[];
  readonly on: readonly number[];
  readonly call: DumpedCall;
  /** The least certain of theirs. */
  readonly reason: Reason;
}

export interface Culprit {
  readonly rank: number;
  /** Why others wait for it. `different`: it called something else than they did. `order`: than it did before. */
  readonly reason: Reason | 'different' | 'order';
  /** The oldest call that it is not done with. Null: it waits for nothing, or left no dump. */
  readonly stands: DumpedCall | null;
  /** The last call that it entered. Null: none is left in its dump. */
  readonly last: DumpedCall | null;
}

/** A job in which ranks entered calls and do not leave them. */
export interface Hang {
  /** Who holds the others up. Empty: everybody is there, or nothing shows who. */
  readonly culprits: readonly Culprit[];
  /** Ranks that wait for each other in a ring, in which nobody stands out. */
  readonly rings: readonly (readonly number[])[];
  readonly different: DifferentCalls | null;
  /** Those that wait for culprits first. */
  readonly waits: readonly WaitingRanks[];
  /** Ranks that stand in a call in which everybody has arrived. */
  readonly inCall: readonly { readonly ranks: readonly number[]; readonly call: DumpedCall }[];
}

/** Null: no rank waits. */
export function hangOf(dumps: readonly RankDump[]): Hang | null {
  const job = jobProgress(dumps);
  if ([...job.ranks.values()].every((r) => r.pending.length === 0)) return null;
  const waits = waitsOf(job);
  const different = differentCalls(job);
  const found = blame(waits);
  const rings = found.rings.map((ring) => ({ ring, odd: outOfOrder(ring, job) }));
  const odd = different?.odd ?? [];
  const ends = [...new Set([...found.culprits, ...rings.flatMap((r) => r.odd)])];
  const reasons = mostCertain(waits);
  const blamed = new Set(found.culprits);
  const ranks = (odd.length > 0 ? odd : different ? [] : ends).toSorted(ascending);
  return {
    culprits: ranks.map((rank) => ({
      rank,
      reason: odd.length > 0 ? 'different' : blamed.has(rank) ? (reasons.get(rank) ?? 'absent') : 'order',
      stands: job.ranks.get(rank)?.pending[0] ?? null,
      last: job.ranks.get(rank)?.last ?? null,
    })),
    rings: rings.filter((r) => r.odd.length === 0).map((r) => r.ring),
    different,
    waits: grouped(waits, new Set(ranks)),
    inCall: together(job, waits),
  };
}

/** Of ranks that wait for each other: those that entered their calls in an order that nobody did before. */
const outOfOrder = (ring: readonly number[], job: JobProgress) => {
  const stands = new Set(ring.map((rank) => job.ranks.get(rank)?.pending[0]));
  return unprecedented(ring, job, (call) => stands.has(call));
};

const certainty = (reason: Reason) => REASONS.indexOf(reason);

/** Why others wait for a rank. */
function mostCertain(waits: readonly Wait[]): ReadonlyMap<number, Reason> {
  const best = new Map<number, Reason>();
  for (const { on, reason } of waits) {
    const known = best.get(on);
    if (known === undefined || certainty(reason) < certainty(known)) best.set(on, reason);
  }
  return best;
}

function grouped(waits: readonly Wait[], culprits: ReadonlySet<number>): readonly WaitingRanks[] {
  const byRank = [...groupBy(waits, (w) => w.rank).values()].map((own) => ({
    rank: own[0]!.rank,
    on: own.map((w) => w.on).toSorted(ascending),
    call: own[0]!.call,
    reason: own.map((w) => w.reason).sort((a, b) => certainty(b) - certainty(a))[0]!,
  }));
  const same = groupBy(byRank, ({ on, call }) =>
    JSON.stringify([on, call.group, call.name, call.peer === null ? call.sequence : 'p2p']),
  );
  const isDirect = ({ on }: WaitingRanks) => on.some((rank) => culprits.has(rank));
  return [...same.values()]
    .map((all) => ({ ...all[0]!, ranks: all.map((w) => w.rank).sort(ascending) }))
    .sort(
      (a, b) =>
        Number(isDirect(b)) - Number(isDirect(a)) ||
        b.ranks.length - a.ranks.length ||
        a.ranks[0]! - b.ranks[0]!,
    );
}

function together(job: JobProgress, waits: readonly Wait[]): Hang['inCall'] {
  const waiting = new Set(waits.map((w) => w.rank));
  const there = [...job.ranks.values()].flatMap(({ rank, pending: [call] }) =>
    call && call.peer === null && !waiting.has(rank) ? [{ rank, call }] : [],
  );
  return [...groupBy(there, ({ call }) => JSON.stringify([call.group, call.sequence])).values()].map(
    (all) => ({
      ranks: all.map((t) => t.rank).sort(ascending),
      call: all[0]!.call,
    }),
  );
}
