import { agrees } from './agreement.js';
import type { Channel } from './channels.js';
import type { MatchInput, Slots } from './matched.js';

/** More entries than this that contradict their number: the ranks do not count alike. */
const TOO_MANY = 0.1;
/** Entries of one number: parts of a coalesced collective. */
const PARTS = 64;

/** Null when entries have no numbers, or the numbers do not agree with what was done. */
export function bySequence(ranks: readonly MatchInput[], channel: Channel): Slots | null {
  const slotOf = new Map<number, number>();
  const firstRank: number[] = [];
  const firstEntry: number[] = [];
  const ranges = { from: [] as number[], to: [] as number[] };
  let wrong = 0;
  const slots: Int32Array[] = [];
  for (const { place, entries } of channel.lists) {
    const { collectives: c } = ranks[place]!;
    const own = new Int32Array(entries.length);
    const parts = new Map<number, number>();
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let k = 0; k < entries.length; k++) {
      const entry = entries[k]!;
      const sequence = c.sequence[entry]!;
      if (Number.isNaN(sequence)) return null;
      const part = parts.get(sequence) ?? 0;
      parts.set(sequence, part + 1);
      if (part >= PARTS) return null;
      const key = sequence * PARTS + part;
      if (sequence < from) from = sequence;
      if (sequence > to) to = sequence;
      let slot = slotOf.get(key);
      if (slot === undefined) {
        slot = slotOf.size;
        slotOf.set(key, slot);
        firstRank.push(place);
        firstEntry.push(entry);
      } else if (!agrees(ranks[firstRank[slot]!]!.collectives, firstEntry[slot]!, c, entry)) {
        wrong++;
        slot = -1;
      }
      own[k] = slot;
    }
    ranges.from.push(from);
    ranges.to.push(to);
    slots.push(own);
  }
  if (wrong > channel.length * TOO_MANY) return null;
  return {
    ...{ slots, count: slotOf.size, method: 'sequence' as const },
    outside: countOutside(ranks, channel, ranges),
    confidence: 1 - wrong / channel.length,
  };
}

/** Entries with numbers that no other rank's recording reaches. */
function countOutside(
  ranks: readonly MatchInput[],
  channel: Channel,
  ranges: { readonly from: number[]; readonly to: number[] },
): number {
  const [from, to] = [ranges.from.sort((a, b) => a - b), ranges.to.sort((a, b) => a - b)];
  let outside = 0;
  for (const { place, entries } of channel.lists) {
    const { sequence } = ranks[place]!.collectives;
    for (const entry of entries) {
      const s = sequence[entry]!;
      if (countBelow(from, s, true) - countBelow(to, s, false) < 2) outside++;
    }
  }
  return outside;
}

function countBelow(sorted: readonly number[], value: number, orEqual: boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value || (orEqual && sorted[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}
