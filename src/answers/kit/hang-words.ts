import { namedRanks } from '../../base/rank-ranges.js';
import type { Culprit, Hang, WaitingRanks } from '../../diagnosis/hang/hang.js';
import type { DumpedCall } from '../../model/flight-dump.js';

const verb = (ranks: readonly unknown[], one: string, many: string) => (ranks.length === 1 ? one : many);
const waitsOf = (ranks: readonly number[]) => `${namedRanks(ranks)} ${verb(ranks, 'waits', 'wait')}`;

const groupName = ({ description, group }: DumpedCall): string =>
  description && description !== 'undefined' ? description : group ? `group ${group}` : 'the default group';

/** `all_reduce #4 of default_pg`, `recv in PIPELINE_MODEL_PARALLEL_GROUP`. */
export const callName = (call: DumpedCall): string =>
  call.peer === null
    ? `${call.name} #${call.sequence} of ${groupName(call)}`
    : `${call.name} in ${groupName(call)}`;

/** Who holds up whom, in one clause without a full stop. `isSeen`: stacks show the missing rank, so it is not gone. */
export function whoIsMissing(hang: Hang, isSeen = false): string {
  const { culprits, different, rings, inCall, waits } = hang;
  if (different) return differentInWords(hang);
  if (culprits.length > 0 && culprits.every((c) => c.reason === 'order')) return outOfOrderInWords(hang);
  const ranks = culprits.map((c) => c.rank);
  const direct = waits.filter((w) => w.on.some((rank) => ranks.includes(rank)));
  const [most] = direct.toSorted(
    (a, b) => reach(b, ranks) - reach(a, ranks) || b.ranks.length - a.ranks.length,
  );
  if (most) return `${missingInWords(culprits, most, isSeen)}${othersInWords(hang, most)}`;
  if (rings.length > 0)
    return `${namedRanks(rings[0]!)} wait for each other in a ring: ${waits
      .filter((w) => w.ranks.some((rank) => rings[0]!.includes(rank)))
      .slice(0, 3)
      .map((w) => `${namedRanks(w.ranks)} for ${namedRanks(w.on)} in ${callName(w.call)}`)
      .join('; ')}`;
  const [all] = inCall.toSorted((a, b) => b.ranks.length - a.ranks.length);
  if (all) return `all of ${namedRanks(all.ranks)} have entered ${callName(all.call)}, and none has finished`;
  return waits[0]
    ? `${waitsOf(waits[0].ranks)} in ${callName(waits[0].call)}`
    : 'ranks wait, and nobody is missing';
}

const reach = ({ on }: WaitingRanks, ranks: readonly number[]) => on.filter((r) => ranks.includes(r)).length;

function missingInWords(
  culprits: readonly Culprit[],
  { ranks, on, call }: WaitingRanks,
  isSeen: boolean,
): string {
  const who = culprits.map((c) => c.rank);
  const named = namedRanks(who);
  const has = verb(who, 'has', 'have');
  const wait = waitsOf(ranks);
  const reasons = new Set(culprits.map((c) => c.reason));
  if (reasons.size === 1 && reasons.has('no-dump') && isSeen)
    return `${wait} for ${namedRanks(on)} in ${callName(call)}`;
  if (reasons.size === 1 && reasons.has('no-dump'))
    return `${wait} in ${callName(call)}, and ${namedRanks(on)} left no dump: ${verb(on, 'its process', 'their processes')} may be gone`;
  if (reasons.size === 1 && reasons.has('behind'))
    return `${named} ${verb(who, 'is', 'are')} not done with earlier calls of ${groupName(call)}, and ${wait} in ${callName(call)}`;
  if (reasons.size === 1 && reasons.has('absent'))
    return `${named} ${has} not entered ${callName(call)}, where ${wait}`;
  return `${named} ${has} not arrived where others wait: ${wait} in ${callName(call)}`;
}

/** They wait for each other in a ring, and only these came to it by other calls than before. */
function outOfOrderInWords({ culprits, waits }: Hang): string {
  const who = culprits.map((c) => c.rank);
  const own = waits.filter((w) => w.ranks.some((rank) => who.includes(rank)));
  const others = [...new Set(waits.flatMap((w) => w.ranks))].filter((rank) => !who.includes(rank));
  const entered = own.map((w) => `${callName(w.call)}, where it waits for ${namedRanks(w.on)}`);
  return `${namedRanks(who)} called ${entered.join(', and ')}, in another order than before; ${waitsOf(others)} for ${verb(who, 'it', 'them')}`;
}

/** Ranks that wait further back. */
function othersInWords({ waits }: Hang, most: WaitingRanks): string {
  const others = new Set(waits.filter((w) => w !== most).flatMap((w) => w.ranks));
  return others.size === 0
    ? ''
    : `; ${namedRanks([...others])} ${verb([...others], 'waits', 'wait')} for those`;
}

function differentInWords({ different, culprits }: Hang): string {
  const { calls, sequence, group } = different!;
  const where = `#${sequence} of ${group}`;
  const odd = culprits.map((c) => c.rank);
  if (odd.length === 0 || calls.length > 2)
    return `ranks call different collectives at ${where}: ${calls.map((d) => `${namedRanks(d.ranks)} ${d.call}`).join('; ')}`;
  const own = calls.find((c) => c.ranks.some((r) => odd.includes(r)))!;
  const other = calls.find((c) => c !== own)!;
  return `${namedRanks(odd)} ${verb(odd, 'calls', 'call')} ${own.call} at ${where}, where ${namedRanks(other.ranks)} ${verb(other.ranks, 'calls', 'call')} ${other.call}`;
}

/** What one culprit does, as its own dump shows. */
export function culpritInWords({ rank, reason, stands, last }: Culprit): string {
  const at = (call: DumpedCall) => `${callName(call)}${call.calledFrom ? ` (${call.calledFrom})` : ''}`;
  if (reason === 'no-dump') return `rank ${rank} left no dump`;
  if (stands)
    return reason === 'behind'
      ? `rank ${rank} has been in ${at(stands)} for longer than the others and has entered later calls: its GPU stopped, or its dump is older`
      : `rank ${rank} is in ${at(stands)}`;
  return last
    ? `rank ${rank} waits for no other rank; its last call is ${at(last)}`
    : `rank ${rank} waits for no other rank`;
}

/** A dump that is missing proves less than one that shows where its rank is. */
export const certaintyOf = ({ culprits, different, rings }: Hang): number =>
  culprits.some((c) => c.reason !== 'no-dump') || different
    ? 0.9
    : culprits.length > 0 || rings.length > 0
      ? 0.7
      : 0.5;
