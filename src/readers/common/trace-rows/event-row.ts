import type { Batch, ScannerTables } from './batch.js';
import { COUNTER } from './counters.js';
import { nanoseconds, RowColumns, SideTables } from './row-columns.js';
import { Counters, Kinds, Strings, Tracks } from './row-tables.js';
import { NO_ID, SIDE_TABLES } from './schema.js';

const [PHASE_X, PHASE_M, PHASE_S, PHASE_T, PHASE_F] = Buffer.from('XMstf');

const tableNumber = (name: string) => SIDE_TABLES.findIndex((t) => t.name === name);
const WIDE_IDS = tableNumber('wideIds');
const WIDE_DURATIONS = tableNumber('wideDurations');
const FLOWS = tableNumber('flows');
const WIDE_SLOTS = 4;

/** The event being read, and the tables it goes to once it is complete. */
export class EventRow {
  readonly counters = new Counters();
  readonly strings = new Strings(this.counters);
  readonly kinds = new Kinds(this.counters);
  readonly tracks = new Tracks(this.counters);
  readonly columns = new RowColumns();
  readonly side = new SideTables();

  // A time is us * 1000 + ns.
  us = Number.NaN;
  ns = 0;
  durUs = Number.NaN;
  durNs = 0;
  phase = 0;
  category = 0;
  name = 0;
  pid = 0;
  tid = 0;
  external: number = NO_ID;
  correlation: number = NO_ID;
  id: number = NO_ID;
  #wideIds = 0;

  // The row written last: a flow event right after it, at the same time and on the same track, belongs to it.
  #lastUs = Number.NaN;
  #lastNs = 0;
  #lastTrack = -1;
  #lastCorrelation: number = NO_ID;

  begin(): void {
    this.side.beginEvent();
    this.us = this.durUs = Number.NaN;
    this.phase = this.category = this.name = this.pid = this.tid = 0;
    this.external = this.correlation = this.id = NO_ID;
    this.#wideIds = 0;
  }

  /** Keeps the text of a value that its 32-bit column cannot hold. */
  keepWide(field: number, b: Uint8Array, from: number, to: number): void {
    if (this.#wideIds === WIDE_SLOTS) {
      this.counters.count(COUNTER.wideLost);
      return;
    }
    const column = this.#wideIds++ * 2;
    this.side.set(WIDE_IDS, column, field);
    this.side.set(WIDE_IDS, column + 1, this.strings.intern(b, from, to));
  }

  /** The event is complete: it becomes a row, or part of the row before. */
  finish(): void {
    const phase = this.phase;
    if (phase === 0) {
      this.counters.count(COUNTER.noPhase);
      return;
    }
    const kind = this.kinds.countEvent(phase, this.category);
    const track = this.tracks.of(this.pid, this.tid);
    if ((phase === PHASE_S || phase === PHASE_F || phase === PHASE_T) && this.#belongsToLast(track)) {
      this.#foldFlow(kind);
      return;
    }
    // The time of a metadata event means nothing, and is 0 in old traces.
    if (phase === PHASE_M) this.us = Number.NaN;
    else if (Number.isNaN(this.us)) this.counters.count(COUNTER.noTimestamp);
    if (phase === PHASE_X && Number.isNaN(this.durUs)) this.counters.count(COUNTER.noDuration);
    this.#writeRow(kind, track);
  }

  #belongsToLast(track: number): boolean {
    const sameTime = this.us === this.#lastUs && this.ns === this.#lastNs;
    return sameTime && track === this.#lastTrack && this.id !== NO_ID;
  }

  /** A flow that belongs to the row before it. Kept only where its id is not that row's correlation. */
  #foldFlow(kind: number): void {
    this.kinds.countFolded(kind);
    if (this.id === this.#lastCorrelation) return;
    this.side.beginEvent(); // the flow's own arguments, if any, are not kept
    this.side.set(FLOWS, 0, this.id);
    this.side.set(FLOWS, 1, kind);
    this.side.commit(this.columns.rowBase + this.columns.rows - 1);
  }

  #writeRow(kind: number, track: number): void {
    const { columns } = this;
    const r = columns.rows;
    const row = columns.rowBase + r;
    const correlation = this.correlation === NO_ID ? this.id : this.correlation;
    const ns = Number.isNaN(this.us) ? 0 : this.ns;
    columns.us[r] = this.us;
    columns.ns[r] = ns;
    columns.dur[r] = this.#shortDuration();
    columns.name[r] = this.name;
    columns.external[r] = this.external;
    columns.correlation[r] = correlation;
    columns.track[r] = track;
    columns.kind[r] = kind;
    columns.noteOffset(row, this.counters.eventOffset);
    this.side.commit(row);
    columns.rows++;
    this.#lastUs = this.us;
    this.#lastNs = ns;
    this.#lastTrack = track;
    this.#lastCorrelation = correlation;
  }

  #shortDuration(): number {
    if (Number.isNaN(this.durUs)) return 0;
    const ns = nanoseconds(this.durUs, this.durNs);
    if (ns >= 0 && ns < 0xffffffff) return ns;
    this.side.set(WIDE_DURATIONS, 0, ns);
    return 0xffffffff;
  }

  /** A batch has no room for one more row. */
  get isFull(): boolean {
    return this.columns.full || this.side.full;
  }

  /** The rows since `startBatch`, as views that are valid until the next call. */
  finishBatch(): Batch {
    const { columns, side, strings, tracks } = this;
    return { ...columns.finish(), strings: strings.count, tracks: tracks.count, side: side.finish() };
  }

  startBatch(): void {
    this.columns.next();
    this.side.clear();
  }

  /** Tables that outlive batches. */
  tables(): ScannerTables {
    const { strings, kinds, tracks, counters, columns } = this;
    return {
      ...strings.tables(),
      kinds: kinds.list(),
      tracks: tracks.list(),
      baseNs: columns.baseNs,
      counters: counters.list(),
    };
  }
}
