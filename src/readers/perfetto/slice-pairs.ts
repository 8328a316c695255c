import { GrowingColumns } from '../common/growing-columns.js';

/** Sets how long the event of a row took, ns. NaN: it has no end. */
type SetDuration = (row: number, ns: number) => void;

/**
 * Joins the beginnings of events to their ends. A trace has them in one of two orders.
 *
 * PyTorch writes all beginnings of a kind of events and then all their ends, in the same order: the first end belongs to the
 * first beginning. That is exact even where events overlap or one begins when another ends, which the viewer of Perfetto gets
 * wrong. Everyone else writes them as they happened: an end belongs to the latest beginning on its track.
 *
 * So events are held until a block of beginnings and the ends after it are complete.
 */
export class SlicePairs {
  readonly #setDuration: SetDuration;
  readonly #begins = new GrowingColumns({ row: Uint32Array, track: Float64Array, time: Float64Array });
  readonly #ends = new GrowingColumns({ track: Float64Array, time: Float64Array });
  /** Beginnings of earlier blocks without an end, by track: row and time in turn. */
  readonly #open = new Map<number, number[]>();
  /** Ends without a beginning, and beginnings without an end. */
  unmatched = 0;

  constructor(setDuration: SetDuration) {
    this.#setDuration = setDuration;
  }

  begin(row: number, track: number, time: number): void {
    if (this.#ends.rows > 0) this.#close(false);
    const i = this.#begins.addRow();
    const { columns } = this.#begins;
    columns.row[i] = row;
    columns.track[i] = track;
    columns.time[i] = time;
  }

  end(track: number, time: number): void {
    const i = this.#ends.addRow();
    const { columns } = this.#ends;
    columns.track[i] = track;
    columns.time[i] = time;
  }

  /** Call once, after the last event. */
  finish(): void {
    this.#close(true);
    for (const rows of this.#open.values())
      for (let i = 0; i < rows.length; i += 2) {
        this.#setDuration(rows[i]!, Number.NaN);
        this.unmatched++;
      }
  }

  #close(isLast: boolean): void {
    if (this.#isInBlocks(isLast)) this.#pairByPosition();
    else this.#pairByTrack();
    this.#begins.rows = 0;
    this.#ends.rows = 0;
  }

  /** Whether the i-th end can only be that of the i-th beginning. Of the last block the file may lack some. */
  #isInBlocks(isLast: boolean): boolean {
    const [begins, ends] = [this.#begins.rows, this.#ends.rows];
    if (ends === 0 || begins < ends || (begins > ends && !isLast)) return false;
    const from = this.#begins.columns;
    const to = this.#ends.columns;
    let isInOrder = to.time[0]! > from.time[begins - 1]!;
    for (let i = 0; i < ends; i++) {
      if (from.track[i] !== to.track[i] || !(to.time[i]! >= from.time[i]!)) return false;
      if (i > 0 && to.time[i]! < to.time[i - 1]!) isInOrder = false;
    }
    // Nested events that end one after the other: as they happened.
    return !isInOrder || begins === 1;
  }

  #pairByPosition(): void {
    const { row, time } = this.#begins.columns;
    for (let i = 0; i < this.#ends.rows; i++)
      this.#setDuration(row[i]!, this.#ends.columns.time[i]! - time[i]!);
    for (let i = this.#ends.rows; i < this.#begins.rows; i++) {
      this.#setDuration(row[i]!, Number.NaN);
      this.unmatched++;
    }
  }

  #pairByTrack(): void {
    const begins = this.#begins.rows;
    const from = this.#begins.columns;
    const to = this.#ends.columns;
    for (const i of this.#inOrder()) {
      const track = i < begins ? from.track[i]! : to.track[i - begins]!;
      const open = this.#open.get(track);
      if (i < begins) {
        if (open) open.push(from.row[i]!, from.time[i]!);
        else this.#open.set(track, [from.row[i]!, from.time[i]!]);
        continue;
      }
      if (!open) {
        this.unmatched++;
        continue;
      }
      const began = open.pop()!;
      const ns = to.time[i - begins]! - began;
      this.#setDuration(open.pop()!, ns >= 0 ? ns : Number.NaN);
      if (!(ns >= 0)) this.unmatched++;
      if (open.length === 0) this.#open.delete(track);
    }
  }

  /** Beginnings, then ends, by time; those of the same time as they are in the file. */
  #inOrder(): Uint32Array {
    const begins = this.#begins.rows;
    const order = new Uint32Array(begins + this.#ends.rows);
    let isSorted = true;
    const timeOf = (i: number) =>
      i < begins ? this.#begins.columns.time[i]! : this.#ends.columns.time[i - begins]!;
    for (let i = 0; i < order.length; i++) {
      order[i] = i;
      if (i > 0 && timeOf(i) < timeOf(i - 1)) isSorted = false;
    }
    return isSorted ? order : order.sort((a, b) => timeOf(a) - timeOf(b) || a - b);
  }
}
