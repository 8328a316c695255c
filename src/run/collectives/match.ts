import { lowerBound, upperBound } from '../../base/search.js';
import { largest, smallest } from '../../base/statistics.js';
import { Kind } from '../../facts/rank-collectives.js';
import { alignLists } from './align.js';
import { agrees, type Channel, findChannels } from './channels.js';
import type { MatchedCollectives, MatchInput, Slots } from './matched.js';

/** A stream that stands in for an unnamed group may belong to another group on another rank. Our judgment. */
const UNNAMED_CONFIDENCE = 0.6;

/** Finds which entries of different ranks are one collective. Linear in entries: ranks are never compared in pairs. */
export function matchCollectives(ranks: readonly MatchInput[]): MatchedCollectives {
  const { groups, channels, loose } = findChannels(ranks);
  const counts = { unmatched: 0, outside: 0, alone: loose };
  const columns = new InstanceColumns(ranks, channels);
  const found = groups.map((g) => ({ ...g, instances: 0, sum: 0 }));
  for (const channel of channels) {
    if (channel.lists.length < 2) {
      counts.alone += channel.length;
      continue;
    }
    const slots = matchChannel(ranks, channel);
    const { matched, instances } = columns.add(channel, slots);
    const missing = Math.max(0, channel.length - matched - slots.outside);
    counts.outside += slots.outside;
    counts.unmatched += missing;
    const group = found[channel.group]!;
    group.instances += instances;
    group.sum += instances * slots.confidence * (matched / Math.max(1, matched + missing));
  }
  const matchedGroups = found.map(({ sum, ...g }) => ({
    ...g,
    confidence: g.instances === 0 ? 0 : (sum / g.instances) * (g.named ? 1 : UNNAMED_CONFIDENCE),
  }));
  const total = found.reduce((n, g) => n + g.instances, 0);
  return {
    ranks: ranks.map((r) => r.rank),
    groups: matchedGroups,
    confidence: matchedGroups.reduce((sum, g) => sum + g.confidence * g.instances, 0) / Math.max(1, total),
    ...columns.finish(),
    ...counts,
  };
}

function matchChannel(ranks: readonly MatchInput[], channel: Channel): Slots {
  // Each side counts its own sends and receives, so their numbers do not agree.
  return (channel.p2p ? null : bySequence(ranks, channel)) ?? alignLists(ranks, channel);
}

/** Collects instances, and their members in columns. */
class InstanceColumns {
  readonly #instances: { group: number; kind: number; bytes: number; first: number; end: number }[] = [];
  readonly #memberRank: Uint16Array;
  readonly #memberEntry: Uint32Array;
  #members = 0;

  constructor(
    readonly ranks: readonly MatchInput[],
    channels: readonly Channel[],
  ) {
    const entries = channels.reduce((n, c) => n + c.length, 0);
    this.#memberRank = new Uint16Array(entries);
    this.#memberEntry = new Uint32Array(entries);
  }

  /** Adds an instance for each slot with two or more members. */
  add(channel: Channel, { slots, count }: Slots): { matched: number; instances: number } {
    const sizes = new Uint32Array(count);
    for (const list of slots) for (const slot of list) if (slot >= 0) sizes[slot]!++;
    // Where the next member of each slot goes; −1: the slot is no instance.
    const next = new Int32Array(count).fill(-1);
    const before = this.#members;
    for (let s = 0; s < count; s++) {
      if (sizes[s]! < 2) continue;
      next[s] = this.#members;
      this.#members += sizes[s]!;
    }
    const first = new Uint8Array(count);
    channel.lists.forEach(({ rankIndex, entries }, l) => {
      const { profilerStart } = this.ranks[rankIndex]!.collectives;
      entries.forEach((entry, k) => {
        const slot = slots[l]![k]!;
        if (slot < 0 || next[slot]! < 0) return;
        this.#memberRank[next[slot]!] = rankIndex;
        this.#memberEntry[next[slot]!++] = entry;
        if (k === 0 && profilerStart) first[slot] = 1;
      });
    });
    const known = this.#instances.length;
    for (let s = 0; s < count; s++) {
      if (next[s]! >= 0) this.#push(channel, next[s]! - sizes[s]!, next[s]!, first[s]!);
    }
    return { matched: this.#members - before, instances: this.#instances.length - known };
  }

  #push({ group, p2p }: Channel, from: number, end: number, first: number): void {
    const { collectives } = this.ranks[this.#memberRank[from]!]!;
    const kind = p2p ? Kind.recv : collectives.kind[this.#memberEntry[from]!]!;
    let bytes = Number.NaN;
    for (let m = from; m < end; m++) {
      const own = this.ranks[this.#memberRank[m]!]!.collectives.bytes[this.#memberEntry[m]!]!;
      if (!(bytes >= own) && !Number.isNaN(own)) bytes = own;
    }
    this.#instances.push({ group, kind, bytes, first, end });
  }

  finish() {
    return {
      length: this.#instances.length,
      group: Uint32Array.from(this.#instances, (i) => i.group),
      kind: Uint8Array.from(this.#instances, (i) => i.kind),
      bytes: Float64Array.from(this.#instances, (i) => i.bytes),
      first: Uint8Array.from(this.#instances, (i) => i.first),
      memberStart: Uint32Array.from([0, ...this.#instances.map((i) => i.end)]),
      memberRank: this.#memberRank.slice(0, this.#members),
      memberEntry: this.#memberEntry.slice(0, this.#members),
    };
  }
}

/** With a larger share of entries that contradict their number, the ranks do not count alike. Our choice. */
const MAX_WRONG = 0.1;
/** Entries with one number are parts of a coalesced collective; more than this many are something else. */
const MAX_PARTS = 64;

/** Matches entries by sequence number. Null: some have none, or the numbers contradict what was done. */
function bySequence(ranks: readonly MatchInput[], channel: Channel): Slots | null {
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

/** Entries whose number is outside the recordings of all other ranks. */
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
