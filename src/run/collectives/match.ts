import { IS_P2P } from '../../facts/rank-collectives.js';
import { alignLists } from './align.js';
import { bySequence } from './by-sequence.js';
import { type Channel, findChannels } from './channels.js';
import {
  type MatchedCollectives,
  type MatchInput,
  type MatchMethod,
  METHODS,
  type Slots,
} from './matched.js';

/** Linear in entries: every rank is compared with a reference, never all with all. */
export function matchCollectives(ranks: readonly MatchInput[]): MatchedCollectives {
  const { groups, channels, loose } = findChannels(ranks);
  const counts = { unmatched: 0, outside: 0, alone: loose };
  const out = new Instances(ranks, channels);
  const found = groups.map((g) => ({ ...g, instances: 0, sum: 0, methods: new Set<MatchMethod>() }));
  for (const channel of channels) {
    if (channel.lists.length < 2) {
      counts.alone += channel.lists[0]!.entries.length;
      continue;
    }
    const slots = matchChannel(ranks, channel);
    const { matched, instances } = out.add(channel, slots);
    counts.outside += slots.outside;
    const missing = Math.max(0, channel.length - matched - slots.outside);
    counts.unmatched += missing;
    const group = found[channel.group]!;
    group.instances += instances;
    group.sum += instances * slots.confidence * (matched / Math.max(1, matched + missing));
    if (instances > 0) group.methods.add(slots.method);
  }
  const total = found.reduce((n, g) => n + g.instances, 0);
  return {
    ...{ ranks: ranks.map((r) => r.rank), ...counts, ...out.finish() },
    groups: found.map(({ sum, methods, ...g }) => ({
      ...g,
      confidence: g.instances === 0 ? 0 : (sum / g.instances) * (g.named ? 1 : UNNAMED),
      method: METHODS.findLast((m) => methods.has(m)) ?? null,
    })),
    confidence: total === 0 ? 0 : found.reduce((s, g) => s + g.sum * (g.named ? 1 : UNNAMED), 0) / total,
  };
}

/** A stream taken for a group may be another group on another rank. */
const UNNAMED = 0.6;

function matchChannel(ranks: readonly MatchInput[], channel: Channel): Slots {
  // Sends and receives are counted by each side for itself: the numbers of the two sides do not agree.
  return (channel.p2p ? null : bySequence(ranks, channel)) ?? alignLists(ranks, channel);
}

/** Collects instances as columns. */
class Instances {
  readonly #group: number[] = [];
  readonly #kind: number[] = [];
  readonly #sequence: number[] = [];
  readonly #bytes: number[] = [];
  readonly #step: number[] = [];
  readonly #first: number[] = [];
  readonly #start: number[] = [0];
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

  add(channel: Channel, { slots, count }: Slots): { matched: number; instances: number } {
    const seen = new Uint32Array(count + 1);
    for (const list of slots) for (const slot of list) if (slot >= 0) seen[slot + 1]!++;
    // Where the members of each slot go; slots with one member are no instances.
    const at = new Int32Array(count).fill(-1);
    const before = this.#members;
    let instances = 0;
    for (let s = 0; s < count; s++) {
      if (seen[s + 1]! < 2) continue;
      at[s] = this.#members;
      this.#members += seen[s + 1]!;
      this.#start.push(this.#members);
      instances++;
    }
    const first = new Map<number, number>();
    channel.lists.forEach(({ place, entries }, l) => {
      const { profilerStart } = this.ranks[place]!.collectives;
      entries.forEach((entry, k) => {
        const slot = slots[l]![k]!;
        if (slot < 0 || at[slot]! < 0) return;
        this.#memberRank[at[slot]!] = place;
        this.#memberEntry[at[slot]!++] = entry;
        if (k === 0 && profilerStart) first.set(slot, 1);
      });
    });
    for (let s = 0; s < count; s++) {
      if (at[s]! >= 0) this.#describe(channel, at[s]! - seen[s + 1]!, at[s]!, first.get(s) ?? 0);
    }
    return { matched: this.#members - before, instances };
  }

  #describe(channel: Channel, from: number, to: number, first: number): void {
    const { collectives } = this.ranks[this.#memberRank[from]!]!;
    const entry = this.#memberEntry[from]!;
    let bytes = Number.NaN;
    for (let m = from; m < to; m++) {
      const own = this.ranks[this.#memberRank[m]!]!.collectives.bytes[this.#memberEntry[m]!]!;
      if (!(bytes >= own) && !Number.isNaN(own)) bytes = own;
    }
    const step = collectives.step[entry]!;
    this.#group.push(channel.group);
    this.#kind.push(channel.p2p ? RECV : collectives.kind[entry]!);
    this.#sequence.push(collectives.sequence[entry]!);
    this.#bytes.push(bytes);
    this.#step.push(step < 0 ? Number.NaN : collectives.steps[step]!);
    this.#first.push(first);
  }

  finish() {
    return {
      length: this.#group.length,
      group: Uint32Array.from(this.#group),
      kind: Uint8Array.from(this.#kind),
      sequence: Float64Array.from(this.#sequence),
      bytes: Float64Array.from(this.#bytes),
      step: Float64Array.from(this.#step),
      first: Uint8Array.from(this.#first),
      memberStart: Uint32Array.from(this.#start),
      memberRank: this.#memberRank.slice(0, this.#members),
      memberEntry: this.#memberEntry.slice(0, this.#members),
    };
  }
}

const RECV = IS_P2P.lastIndexOf(1);
