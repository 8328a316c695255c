import { lowerBound, upperBound } from '../../base/search.js';
import { largest, smallest } from '../../base/statistics.js';
import { agrees } from './agreement.js';
import type { Channel } from './channels.js';
import type { MatchInput, Slots } from './matched.js';

/** With a larger share of entries that contradict their number, the ranks do not count alike. Our choice. */
const MAX_WRONG = 0.1;
/** Entries with one number are parts of a coalesced collective; more than this many are something else. */
const MAX_PARTS = 64;

/** Matches entries by sequence number. Null: some have none, or the numbers contradict what was done. */
export function bySequence(ranks: readonly MatchInput[], channel: Channel): Slots | null {
  const slotOf = new Map<number, number>();
  const firstOf: { readonly rankIndex: number; readonly entry: number }[] = [];
  let wrong = 0;
  const slots: Int32Array[] = [];
  for (const { rankIndex, entries } of channel.lists) {
    const { collectives: c } = ranks[rankIndex]!;
    const own = new Int32Array(entries.length);
    const parts = new Map<number, number>();
    for (let k = 0; k < entries.length; k++) {
      const entry = entries[k]!;
      const sequence = c.sequence[entry]!;
      const part = parts.get(sequence) ?? 0;
      if (Number.isNaN(sequence) || part >= MAX_PARTS) return null;
      parts.set(sequence, part + 1);
      const key = sequence * MAX_PARTS + part;
      let slot = slotOf.get(key);
      if (slot === undefined) {
        slot = firstOf.push({ rankIndex, entry }) - 1;
        slotOf.set(key, slot);
      } else {
        const first = firstOf[slot]!;
        if (!agrees(ranks[first.rankIndex]!.collectives, first.entry, c, entry)) {
          wrong++;
          slot = -1;
        }
      }
      own[k] = slot;
    }
    slots.push(own);
  }
  if (wrong > channel.length * MAX_WRONG) return null;
  const confidence = 1 - wrong / channel.length;
  return { slots, count: slotOf.size, outside: countOutside(ranks, channel), confidence };
}

/** Entries whose number lies outside the recordings of all other ranks. */
function countOutside(ranks: readonly MatchInput[], channel: Channel): number {
  const lists = channel.lists.map(({ rankIndex, entries }) => {
    const { sequence } = ranks[rankIndex]!.collectives;
    return new Float64Array(entries.length).map((_, k) => sequence[entries[k]!]!);
  });
  const first = Float64Array.from(lists, (l) => smallest(l)).sort();
  const last = Float64Array.from(lists, (l) => largest(l)).sort();
  let outside = 0;
  for (const list of lists) {
    for (const s of list) if (upperBound(first, s) - lowerBound(last, s) < 2) outside++;
  }
  return outside;
}
