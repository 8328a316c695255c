import type { DumpedCall } from '../../model/flight-dump.js';
import type { JobProgress, Progress } from './progress.js';

/** Why a rank is not where another waits for it, the most certain first. */
export const REASONS = [
  /** It has not entered the call. */
  'absent',
  /** It has entered the call, and is not done with an earlier one that others are done with. */
  'behind',
  /** It has entered the call, and waits in another one that it entered before. */
  'queued',
  /** It has entered neither the send that belongs to a receive, nor the other way round, as far as is recorded. */
  'unmatched',
  /** It left no dump. */
  'no-dump',
] as const;
export type Reason = (typeof REASONS)[number];

/** One rank waits for another. */
export interface Wait {
  readonly rank: number;
  readonly on: number;
  readonly reason: Reason;
  readonly call: DumpedCall;
}

/**
 * Whom each rank waits for: in the oldest call that it is not done with, the members that have not arrived. Later calls only
 * queue behind it.
 */
export function waitsOf(job: JobProgress): readonly Wait[] {
  return [...job.ranks.values()].flatMap((own) => {
    for (const call of own.pending) {
      const waits = missingIn(call, own, job);
      // A send that nobody waits for holds up nothing by itself.
      if (waits.length > 0 || call.name !== 'send') return waits;
    }
    return [];
  });
}

function missingIn(call: DumpedCall, own: Progress, job: JobProgress): Wait[] {
  const wait = (on: number, reason: Reason | null): Wait[] =>
    reason === null || on === own.rank ? [] : [{ rank: own.rank, on, reason, call }];
  const members = job.members(call.group);
  if (call.peer !== null) {
    const peer = members[call.peer];
    return peer === undefined ? [] : wait(peer, whyNotMatched(call, own.rank, peer, job));
  }
  // Somebody is done with it, so all have arrived. What the own dump shows is old: its GPU or its process stopped.
  if (ARE_TOGETHER.test(call.name) && members.some((rank) => isDone(job.ranks.get(rank), call))) return [];
  const waits = members.flatMap((rank) => wait(rank, whyNotThere(call, job.ranks.get(rank))));
  const known = waits.filter((w) => w.reason !== 'no-dump');
  if (known.length > 0) return known;
  // Whoever left no dump may be a member if the dumps do not name the members.
  if (waits.length > 0 || job.knowsMembers(call.group)) return waits;
  return job.undumped.flatMap((rank) => wait(rank, 'no-dump'));
}

/** Nobody leaves one of these before all have entered it. */
const ARE_TOGETHER = /all_?reduce|all_?gather|reduce_scatter|all_?to_?all|barrier/i;

const isDone = (rank: Progress | undefined, call: DumpedCall) =>
  (rank?.in(call.group).done ?? -1) >= call.sequence;

function whyNotThere(call: DumpedCall, other: Progress | undefined): Reason | null {
  if (!other) return 'no-dump';
  const { entered, done } = other.in(call.group);
  // Nothing is known about it in this group. If it waits for nothing, it is somewhere else.
  if (entered === null || done === null) return other.pending.length === 0 ? 'absent' : null;
  if (entered < call.sequence) return 'absent';
  if (done >= call.sequence) return null;
  if (done < call.sequence - 1) return 'behind';
  return isFirst(other, (c) => c.peer === null && c.group === call.group) ? null : 'queued';
}

/** The call at which a rank stands is this one. */
const isFirst = ({ pending: [first] }: Progress, is: (call: DumpedCall) => boolean) =>
  first !== undefined && is(first);

function whyNotMatched(call: DumpedCall, rank: number, peer: number, job: JobProgress): Reason | null {
  const other = job.ranks.get(peer);
  if (!other) return 'no-dump';
  const opposite = call.name === 'send' ? 'recv' : 'send';
  const members = job.members(call.group);
  const matches = (c: DumpedCall) =>
    c.group === call.group && c.name === opposite && c.peer !== null && members[c.peer] === rank;
  if (isFirst(other, matches)) return null;
  return other.pending.some(matches) ? 'queued' : 'unmatched';
}
