import { indexInSorted } from '../../base/search.js';
import {
  bytesMoved,
  bytesOfType,
  elementsOfDims,
  kindOfName,
  MOVES_NOTHING,
} from '../../facts/collective-names.js';
import type { CollectiveGroup, CollectiveKind } from '../../facts/rank-collectives.js';
import type { Trace } from '../../model/trace.js';
import type { GroupArgs } from './groups.js';

/** What is known about a collective from the events that speak of it. */
export class CollectiveArguments {
  readonly #trace: Trace;
  readonly #kindOf: (id: number) => number;
  readonly #kinds: CollectiveKind[] = [];

  constructor(trace: Trace) {
    this.#trace = trace;
    const places = new Map<CollectiveKind, number>();
    this.#kindOf = trace.strings.memo((text) => {
      const kind = kindOfName(text);
      const place = places.get(kind) ?? this.#kinds.push(kind) - 1;
      places.set(kind, place);
      return place;
    });
  }

  /** Place in the table of collectives; −1: the row has no arguments. */
  placeOf(row: number): number {
    return row < 0 ? -1 : indexInSorted(this.#trace.data.collectives.row, row);
  }

  /** By `Collective name`, else by names of calls and kernels, the first that tells. */
  kind(places: readonly number[], rows: readonly number[]): CollectiveKind {
    const { collectives, name } = this.#trace.data;
    const ids = places.map((p) => collectives.collective[p]!).filter((id) => id !== 0);
    for (const id of [...ids, ...rows.filter((r) => r >= 0).map((r) => name[r]!)]) {
      const kind = this.#kinds[this.#kindOf(id)]!;
      if (kind !== 'other') return kind;
    }
    return 'other';
  }

  /** A record of waiting or of making a group: no collective. */
  movesNothing(place: number): boolean {
    const id = place < 0 ? 0 : this.#trace.data.collectives.collective[place]!;
    return id !== 0 && MOVES_NOTHING.test(this.#trace.strings.text(id));
  }

  group(places: readonly number[]): GroupArgs | null {
    if (places.length === 0) return null;
    const c = this.#trace.data.collectives;
    return {
      ...{ name: firstId(c.groupName, places), description: firstId(c.groupDescription, places) },
      ...{ ranks: firstId(c.groupRanks, places), size: firstNumber(c.groupSize, places) },
      ...{ start: firstNumber(c.rankStart, places), stride: firstNumber(c.rankStride, places) },
    };
  }

  sequence(places: readonly number[]): number {
    const sequence = firstNumber(this.#trace.data.collectives.sequence, places);
    return sequence <= MAX_SEQUENCE && Number.isInteger(sequence) && sequence >= 0 ? sequence : Number.NaN;
  }

  /** Global rank of the other side, or of the root. `Rank` is a place in the group; for all others it is one's own. */
  peer(kind: CollectiveKind, places: readonly number[], group: CollectiveGroup, callName: string): number {
    const c = this.#trace.data.collectives;
    const direct =
      kind === 'send'
        ? firstNumber(c.destinationRank, places)
        : kind === 'recv'
          ? firstNumber(c.sourceRank, places)
          : Number.NaN;
    if (direct >= 0 && direct < MAX_RANK) return Math.floor(direct);
    if (!HAS_PEER.has(kind)) return -1;
    let inGroup = firstNumber(c.rank, places);
    // `nccl:send 0->1`, `nccl:recv 1<-0`, in places of the group.
    const ends = /(?:->|<-)\s?(\d+)$/.exec(callName);
    if (Number.isNaN(inGroup) && ends) inGroup = Number(ends[1]);
    return group.ranks?.[inGroup] ?? -1;
  }

  dtype(places: readonly number[], shaped: number): string {
    const { strings, data } = this.#trace;
    const id = firstId(data.collectives.dtype, places);
    if (id !== 0) return strings.text(id);
    const place = indexInSorted(data.shapes.row, shaped);
    const types = place < 0 ? null : strings.value(data.shapes.types[place]!);
    return Array.isArray(types) && typeof types[0] === 'string' ? types[0] : '';
  }

  /** `shaped`: a call with the shape of the input, for traces without arguments. */
  bytes(
    kind: CollectiveKind,
    places: readonly number[],
    shaped: number,
    dtype: string,
    size: number | null,
  ): number {
    const { strings, data } = this.#trace;
    const elementBytes = bytesOfType(dtype);
    if (places.length > 0) {
      const [inn, out] = [
        firstNumber(data.collectives.inElements, places),
        firstNumber(data.collectives.outElements, places),
      ];
      if (inn >= 0 || out >= 0) return bytesMoved(kind, inn, out, elementBytes, size);
    }
    const place = indexInSorted(data.shapes.row, shaped);
    if (place < 0) return Number.NaN;
    const elements = elementsOfDims(strings.value(data.shapes.dims[place]!));
    return bytesMoved(kind, elements, Number.NaN, elementBytes, size);
  }
}

/** A number beyond these is a fault, and would not fit where it goes. */
const MAX_SEQUENCE = 2 ** 40;
const MAX_RANK = 2 ** 24;

const HAS_PEER: ReadonlySet<CollectiveKind> = new Set<CollectiveKind>([
  ...(['send', 'recv', 'broadcast', 'reduce', 'gather', 'scatter'] as const),
]);

function firstId(column: ArrayLike<number>, places: readonly number[]): number {
  for (const p of places) if (column[p] !== 0) return column[p]!;
  return 0;
}

function firstNumber(column: Float64Array, places: readonly number[]): number {
  for (const p of places) if (!Number.isNaN(column[p]!)) return column[p]!;
  return Number.NaN;
}
