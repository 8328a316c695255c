import { groupBy } from '../../base/group-by.js';
import { agrees, type Channel, Tokens } from './channels.js';
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
  // Recordings end closer together than they begin: what only the longest list has is before the others.
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

/** Lists up to this many cells (about a thousand entries each) are compared in full: a few milliseconds. */
const MAX_CELLS = 1 << 20;
/** How far the quick comparison looks ahead for the next equal pair. */
const LOOK_AHEAD = 256;

/**
 * Which elements of two lists belong together, in order: for each of `own` its index in `reference`, −1 for none. The
 * longest common subsequence where the lists are short once equal ends are taken off, a greedy one otherwise.
 */
export function commonSubsequence(reference: Int32Array, own: Int32Array): Int32Array {
  const indices = new Int32Array(own.length).fill(-1);
  const shorter = Math.min(reference.length, own.length);
  let from = 0;
  for (; from < shorter && reference[from] === own[from]; from++) indices[from] = from;
  let [refEnd, ownEnd] = [reference.length, own.length];
  while (refEnd > from && ownEnd > from && reference[refEnd - 1] === own[ownEnd - 1])
    indices[--ownEnd] = --refEnd;
  const [rows, columns] = [refEnd - from, ownEnd - from];
  if (rows === 0 || columns === 0) return indices;
  const pairUp = (rows + 1) * (columns + 1) <= MAX_CELLS && rows < 65_536 ? longest : greedy;
  pairUp(reference.subarray(from, refEnd), own.subarray(from, ownEnd), (r, o) => {
    indices[from + o] = from + r;
  });
  return indices;
}

type Take = (reference: number, own: number) => void;

/** `lengths[i, j]`: length of the longest common subsequence of a from i on and b from j on. */
function longest(a: Int32Array, b: Int32Array, take: Take): void {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const cell = i * width + j;
      lengths[cell] =
        a[i] === b[j] ? lengths[cell + width + 1]! + 1 : Math.max(lengths[cell + width]!, lengths[cell + 1]!);
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const cell = i * width + j;
    if (a[i] === b[j]) take(i++, j++);
    else if (lengths[cell + width]! >= lengths[cell + 1]!) i++;
    else j++;
  }
}

/** At a difference takes the nearest equal pair ahead: the one that skips the fewest elements of both lists together. */
function greedy(a: Int32Array, b: Int32Array, take: Take): void {
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      take(i++, j++);
      continue;
    }
    const [skipA, skipB] = nearest(a, b, i, j);
    i += skipA;
    j += skipB;
  }
}

function nearest(a: Int32Array, b: Int32Array, i: number, j: number): readonly [number, number] {
  const seen = new Map<number, number>();
  for (let k = 0; k < LOOK_AHEAD && i + k < a.length; k++) if (!seen.has(a[i + k]!)) seen.set(a[i + k]!, k);
  let best: readonly [number, number] = [LOOK_AHEAD, LOOK_AHEAD];
  for (let k = 0; k < LOOK_AHEAD && j + k < b.length; k++) {
    const skip = seen.get(b[j + k]!);
    if (skip !== undefined && skip + k < best[0] + best[1]) best = [skip, k];
  }
  return best;
}
