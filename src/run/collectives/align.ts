import { groupBy } from '../../base/group-by.js';
import { agrees, type Channel, Tokens } from './channels.js';
import { commonSubsequence } from './common-subsequence.js';
import type { MatchInput, Slots } from './matched.js';

/** Confidence of matching the k-th entry in a numbered step: wrong only where ranks do different things. Our judgment. */
const BY_STEP = 0.9;
/** Confidence of counting from the end of the recordings: steps are alike, so a shift by whole steps would not show. */
const BY_ORDER = 0.5;
/** Lists that differ may be aligned wrongly: confidence drops to this share where all do. */
const ALIGNED = 0.8;

/** For channels without sequence numbers: by order in the step; without numbered steps, by order from the end. */
export function alignLists(ranks: readonly MatchInput[], channel: Channel): Slots {
  const numbered = channel.lists.every(({ rankIndex }) => {
    const { collectives: c } = ranks[rankIndex]!;
    return c.numbered && c.steps.length > 0;
  });
  return numbered ? bySteps(ranks, channel) : byOrder(ranks, channel);
}

/** Some positions in one list of the channel. */
interface Part {
  readonly list: number;
  readonly positions: readonly number[];
}

function bySteps(ranks: readonly MatchInput[], channel: Channel): Slots {
  const partsOfStep = new Map<number, Part[]>();
  const ranksWithStep = new Map<number, number>();
  let outside = 0;
  channel.lists.forEach(({ rankIndex, entries }, list) => {
    const { collectives: c } = ranks[rankIndex]!;
    for (const step of c.steps) ranksWithStep.set(step, (ranksWithStep.get(step) ?? 0) + 1);
    for (const [step, positions] of groupBy(entries.keys(), (position) => c.step[entries[position]!]!)) {
      if (step < 0) {
        outside += positions.length;
        continue;
      }
      const number = c.steps[step]!;
      const parts = partsOfStep.get(number) ?? [];
      partsOfStep.set(number, parts);
      parts.push({ list, positions });
    }
  });
  const aligner = new Aligner(ranks, channel);
  for (const [step, parts] of partsOfStep) {
    if (ranksWithStep.get(step)! < 2) outside += parts.reduce((n, p) => n + p.positions.length, 0);
    else aligner.align(parts);
  }
  return { ...aligner.finish(BY_STEP), outside };
}

function byOrder(ranks: readonly MatchInput[], channel: Channel): Slots {
  const lengths = channel.lists.map((l) => l.entries.length).sort((a, b) => b - a);
  // Recordings end closer together than they begin: what only the longest list has lies before the others.
  const shared = lengths[1]!;
  const outside = lengths.reduce((n, length) => n + Math.max(0, length - shared), 0);
  const aligner = new Aligner(ranks, channel);
  aligner.align(
    channel.lists.map(({ entries }, list) => ({ list, positions: [...entries.keys()].reverse() })),
  );
  return { ...aligner.finish(BY_ORDER), outside };
}

interface Row extends Part {
  readonly rankIndex: number;
  readonly entries: readonly number[];
  readonly tokens: Int32Array;
  readonly text: string;
}

/** Assigns slots: to equal lists position by position, to others by what they have in common with the usual list. */
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
    const rows = parts.map((part): Row => {
      const { rankIndex, entries: all } = this.channel.lists[part.list]!;
      const entries = part.positions.map((position) => all[position]!);
      const tokens = this.#tokens.of(this.ranks[rankIndex]!.collectives, entries);
      return { ...part, rankIndex, entries, tokens, text: tokens.join() };
    });
    const usual = usualOf(rows);
    const firstSlot = this.#count;
    this.#count += usual.entries.length;
    // Equal lists are aligned once, however many ranks have them. Null: position by position.
    const alignments = new Map<string, Int32Array | null>();
    for (const row of rows) {
      let alignment = alignments.get(row.text);
      if (alignment === undefined) {
        alignment = this.#fits(row, usual) ? null : commonSubsequence(usual.tokens, row.tokens);
        alignments.set(row.text, alignment);
      }
      // A list that is only shorter than the usual one is no reason for doubt.
      if (alignment?.some((index, k) => index !== k)) this.#differing += row.entries.length;
      const slots = this.#slots[row.list]!;
      row.positions.forEach((position, k) => {
        const index = alignment ? alignment[k]! : k;
        if (index >= 0) slots[position] = firstSlot + index;
      });
    }
  }

  #fits(a: Row, b: Row): boolean {
    if (a.text === b.text) return true;
    const [ca, cb] = [this.ranks[a.rankIndex]!.collectives, this.ranks[b.rankIndex]!.collectives];
    return (
      a.entries.length === b.entries.length && a.entries.every((e, k) => agrees(ca, e, cb, b.entries[k]!))
    );
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
function usualOf(rows: readonly Row[]): Row {
  const sameAs = groupBy(rows, (row) => row.text);
  return rows.reduce((best, row) => {
    const more = sameAs.get(row.text)!.length - sameAs.get(best.text)!.length;
    return more > 0 || (more === 0 && row.entries.length > best.entries.length) ? row : best;
  });
}
