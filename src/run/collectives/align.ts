import { agrees, Tokens } from './agreement.js';
import type { Channel, ChannelList } from './channels.js';
import type { MatchInput, Slots } from './matched.js';
import { commonPlaces } from './sequence-match.js';

/** The k-th of a group in a numbered step: wrong only where ranks do different things. */
const BY_STEP = 0.9;
/** The k-th from the end of the recordings: steps are alike, a shift by whole steps would not show. */
const BY_ORDER = 0.5;
/** Lists that had to be aligned may be aligned wrongly. */
const ALIGNED = 0.8;

/** Without sequence numbers: by place in the step; without numbered steps, by place from the end. */
export function alignLists(ranks: readonly MatchInput[], channel: Channel): Slots {
  const numbered = channel.lists.every(({ place }) => {
    const { collectives: c } = ranks[place]!;
    return c.numbered && c.steps.length > 0;
  });
  return numbered ? bySteps(ranks, channel) : byOrder(ranks, channel);
}

interface Part {
  /** Place in the channel's lists, and of each entry in that list. */
  readonly list: number;
  readonly at: number[];
}

function bySteps(ranks: readonly MatchInput[], channel: Channel): Slots {
  const steps = new Map<number, Part[]>();
  let outside = 0;
  const recorded = new Map<number, number>();
  channel.lists.forEach(({ place, entries }, list) => {
    const { collectives: c } = ranks[place]!;
    for (const number of c.steps) recorded.set(number, (recorded.get(number) ?? 0) + 1);
    entries.forEach((entry, at) => {
      const step = c.step[entry]!;
      if (step < 0) {
        outside++;
        return;
      }
      const number = c.steps[step]!;
      const parts = steps.get(number);
      const last = parts?.at(-1);
      if (last?.list === list) last.at.push(at);
      else if (parts) parts.push({ list, at: [at] });
      else steps.set(number, [{ list, at: [at] }]);
    });
  });
  const aligner = new Aligner(ranks, channel);
  for (const [number, parts] of steps) {
    if ((recorded.get(number) ?? 0) < 2) outside += parts.reduce((n, p) => n + p.at.length, 0);
    else aligner.align(parts);
  }
  return { ...aligner.finish(BY_STEP), outside, method: 'steps' };
}

function byOrder(ranks: readonly MatchInput[], channel: Channel): Slots {
  const lengths = channel.lists.map((l) => l.entries.length).sort((a, b) => b - a);
  // Recordings end closer together than they begin: what only the longest has is older than the others.
  const shared = lengths[1]!;
  let outside = 0;
  const parts = channel.lists.map(({ entries }, list): Part => {
    outside += Math.max(0, entries.length - shared);
    return { list, at: entries.map((_, i) => i).reverse() };
  });
  const aligner = new Aligner(ranks, channel);
  aligner.align(parts);
  return { ...aligner.finish(BY_ORDER), outside, method: 'order' };
}

/** Puts lists beside each other: equal ones place by place, others by what they have in common with the usual one. */
class Aligner {
  readonly #slots: Int32Array[];
  readonly #tokens = new Tokens();
  #count = 0;
  #differing = 0;

  constructor(
    readonly ranks: readonly MatchInput[],
    readonly channel: Channel,
  ) {
    this.#slots = channel.lists.map((l) => new Int32Array(l.entries.length).fill(-1));
  }

  align(parts: readonly Part[]): void {
    const rows = parts.map((part) => {
      const { place, entries } = this.#listOf(part);
      const own = part.at.map((at) => entries[at]!);
      const tokens = this.#tokens.of(this.ranks[place]!.collectives, own);
      return { part, place, own, tokens, text: tokens.join() };
    });
    type Row = (typeof rows)[number];
    const usual = usualOf(rows);
    const known = new Map<string, Int32Array | null>();
    const base = this.#count;
    this.#count += usual.own.length;
    for (const row of rows) {
      // Equal lists of numbers are aligned once, however many ranks have them.
      let places = known.get(row.text);
      if (places === undefined) {
        places =
          row.text === usual.text || fits(this.ranks, row, usual)
            ? null
            : commonPlaces(usual.tokens, row.tokens);
        known.set(row.text, places);
      }
      // A list that only begins later than the usual one is no reason for doubt.
      if (places?.some((place, k) => place !== k)) this.#differing += row.own.length;
      this.#place(row, places, base);
    }
    function fits(ranks: readonly MatchInput[], a: Row, b: Row): boolean {
      const [ca, cb] = [ranks[a.place]!.collectives, ranks[b.place]!.collectives];
      return a.own.length === b.own.length && a.own.every((entry, k) => agrees(ca, entry, cb, b.own[k]!));
    }
  }

  #place({ part }: { readonly part: Part }, places: Int32Array | null, base: number): void {
    const slots = this.#slots[part.list]!;
    part.at.forEach((at, k) => {
      const place = places ? places[k]! : k;
      if (place >= 0) slots[at] = base + place;
    });
  }

  #listOf(part: Part): ChannelList {
    return this.channel.lists[part.list]!;
  }

  finish(confidence: number) {
    const differing = this.#differing / Math.max(1, this.channel.length);
    return {
      slots: this.#slots,
      count: this.#count,
      confidence: confidence * (1 - (1 - ALIGNED) * Math.min(1, differing)),
    };
  }
}

/** The list that most ranks have; of several the longest. */
function usualOf<R extends { readonly text: string; readonly own: readonly number[] }>(
  rows: readonly R[],
): R {
  const counts = new Map<string, number>();
  for (const { text } of rows) counts.set(text, (counts.get(text) ?? 0) + 1);
  return rows.reduce((best, row) => {
    const more = counts.get(row.text)! - counts.get(best.text)!;
    return more > 0 || (more === 0 && row.own.length > best.own.length) ? row : best;
  });
}
