import { indexInSorted } from '../../base/search.js';
import {
  bytesMoved,
  bytesOfType,
  elementsOfDims,
  kindOfName,
  MOVES_NOTHING,
} from '../../facts/collective-names.js';
import {
  COLLECTIVE_KINDS,
  type CollectiveGroup,
  type CollectiveKind,
  Kind,
} from '../../facts/rank-collectives.js';
import type { Trace } from '../../model/trace.js';
import type { GroupArgs } from './groups.js';

/** What the arguments and names of events tell about a collective. An entry is an index in the table of collectives. */
export class CollectiveArguments {
  readonly #trace: Trace;
  readonly #kindOf: (id: number) => number;

  constructor(trace: Trace) {
    this.#trace = trace;
    this.#kindOf = trace.strings.memo((text) => Kind[kindOfName(text)]);
  }

  /** The entry of a row; −1: the row has no arguments. */
  entryOf(row: number): number {
    return row < 0 ? -1 : indexInSorted(this.#trace.data.collectives.row, row);
  }

  /** By `Collective name`, else by the first name of a call or kernel that tells. */
  kind(entries: readonly number[], rows: readonly number[]): CollectiveKind {
    const { collectives, name } = this.#trace.data;
    const ids = entries.map((p) => collectives.collective[p]!).filter((id) => id !== 0);
    for (const id of [...ids, ...rows.filter((r) => r >= 0).map((r) => name[r]!)]) {
      const kind = COLLECTIVE_KINDS[this.#kindOf(id)]!;
      if (kind !== 'other') return kind;
    }
    return 'other';
  }

  /** A record of waiting or of making a group is no collective. */
  movesNothing(entry: number): boolean {
    const id = entry < 0 ? 0 : this.#trace.data.collectives.collective[entry]!;
    return id !== 0 && MOVES_NOTHING.test(this.#trace.strings.text(id));
  }

  group(entries: readonly number[]): GroupArgs | null {
    if (entries.length === 0) return null;
    const c = this.#trace.data.collectives;
    return {
      name: firstId(c.groupName, entries),
      description: firstId(c.groupDescription, entries),
      ranks: firstId(c.groupRanks, entries),
      size: firstNumber(c.groupSize, entries),
      start: firstNumber(c.rankStart, entries),
      stride: firstNumber(c.rankStride, entries),
    };
  }

  sequence(entries: readonly number[]): number {
    const sequence = firstNumber(this.#trace.data.collectives.sequence, entries);
    return sequence <= MAX_SEQUENCE && Number.isInteger(sequence) && sequence >= 0 ? sequence : Number.NaN;
  }

  /** Global rank of the other side, or of the root. `Rank` counts in the group, and is one's own rank in other kinds. */
  peer(kind: CollectiveKind, entries: readonly number[], group: CollectiveGroup, callName: string): number {
    const c = this.#trace.data.collectives;
    const column = kind === 'send' ? c.destinationRank : kind === 'recv' ? c.sourceRank : null;
    const direct = column ? firstNumber(column, entries) : Number.NaN;
    if (direct >= 0 && direct < MAX_RANK) return Math.floor(direct);
    if (!HAS_PEER.test(kind)) return -1;
    let inGroup = firstNumber(c.rank, entries);
    // `nccl:send 0->1`, `nccl:recv 1<-0`, counted in the group.
    const ends = /(?:->|<-)\s?(\d+)$/.exec(callName);
    if (Number.isNaN(inGroup) && ends) inGroup = Number(ends[1]);
    return group.ranks?.[inGroup] ?? -1;
  }

  dtype(entries: readonly number[], shaped: number): string {
    const { strings, data } = this.#trace;
    const id = firstId(data.collectives.dtype, entries);
    if (id !== 0) return strings.text(id);
    const shape = indexInSorted(data.shapes.row, shaped);
    const types = shape < 0 ? null : strings.value(data.shapes.types[shape]!);
    return Array.isArray(types) && typeof types[0] === 'string' ? types[0] : '';
  }

  /** `shaped`: row of a call with the shapes of its input, for traces without arguments. */
  bytes(
    kind: CollectiveKind,
    entries: readonly number[],
    shaped: number,
    dtype: string,
    size: number | null,
  ): number {
    const { strings, data } = this.#trace;
    const elementBytes = bytesOfType(dtype);
    const inElements = firstNumber(data.collectives.inElements, entries);
    const outElements = firstNumber(data.collectives.outElements, entries);
    if (inElements >= 0 || outElements >= 0)
      return bytesMoved(kind, inElements, outElements, elementBytes, size);
    const shape = indexInSorted(data.shapes.row, shaped);
    if (shape < 0) return Number.NaN;
    const elements = elementsOfDims(strings.value(data.shapes.dims[shape]!));
    return bytesMoved(kind, elements, Number.NaN, elementBytes, size);
  }
}

/** A larger number is damage, and would not fit into its column. */
const MAX_SEQUENCE = 2 ** 40;
const MAX_RANK = 2 ** 24;

const HAS_PEER = /^(?:send|recv|broadcast|reduce|gather|scatter)$/;

/** The first value that is set among the entries. */
function firstId(column: ArrayLike<number>, entries: readonly number[]): number {
  return entries.map((e) => column[e]!).find((id) => id !== 0) ?? 0;
}

function firstNumber(column: Float64Array, entries: readonly number[]): number {
  return entries.map((e) => column[e]!).find((value) => !Number.isNaN(value)) ?? Number.NaN;
}
