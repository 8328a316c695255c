import type { EventLogHeader, EventLogRun } from '../../model/event-log.js';
import type { EventRecord } from './event-record.js';

const FIRST_ROWS = 64;

type Column = Uint8Array | Uint16Array | Int32Array | Float64Array;

/**
 * The rows of one run: 51 bytes each. Capacity doubles, and the unused half is zero pages the system has not handed
 * out yet.
 */
export class RunColumns {
  #rows = 0;
  #capacity = FIRST_ROWS;
  #name = new Uint16Array(FIRST_ROWS);
  #step = new Float64Array(FIRST_ROWS);
  #rank = new Int32Array(FIRST_ROWS);
  #durationMs = new Float64Array(FIRST_ROWS);
  #startMs = new Float64Array(FIRST_ROWS);
  #micro = new Int32Array(FIRST_ROWS);
  #clock = new Uint8Array(FIRST_ROWS);
  #hostMs = new Float64Array(FIRST_ROWS);
  #lagMs = new Float64Array(FIRST_ROWS);

  get rows(): number {
    return this.#rows;
  }

  append(record: EventRecord, name: number, rank: number): void {
    if (this.#rows === this.#capacity) this.#resize(2 * this.#capacity);
    const row = this.#rows++;
    this.#name[row] = name;
    this.#step[row] = record.step;
    this.#rank[row] = rank;
    this.#durationMs[row] = record.durationMs;
    this.#startMs[row] = record.startMs;
    this.#micro[row] = record.micro;
    this.#clock[row] = record.clock;
    this.#hostMs[row] = record.hostMs;
    this.#lagMs[row] = record.lagMs;
  }

  /** Call once: the columns are cut to length one at a time, so that no second copy of the run is ever alive. */
  finish(id: string | null, header: EventLogHeader | null, names: readonly string[]): EventLogRun {
    this.#resize(this.#rows);
    return {
      id,
      header,
      names,
      rows: this.#rows,
      name: this.#name,
      step: this.#step,
      rank: this.#rank,
      durationMs: this.#durationMs,
      startMs: this.#startMs,
      micro: this.#micro,
      clock: this.#clock,
      hostMs: this.#hostMs,
      lagMs: this.#lagMs,
    };
  }

  #resize(capacity: number): void {
    this.#name = resized(this.#name, new Uint16Array(capacity));
    this.#step = resized(this.#step, new Float64Array(capacity));
    this.#rank = resized(this.#rank, new Int32Array(capacity));
    this.#durationMs = resized(this.#durationMs, new Float64Array(capacity));
    this.#startMs = resized(this.#startMs, new Float64Array(capacity));
    this.#micro = resized(this.#micro, new Int32Array(capacity));
    this.#clock = resized(this.#clock, new Uint8Array(capacity));
    this.#hostMs = resized(this.#hostMs, new Float64Array(capacity));
    this.#lagMs = resized(this.#lagMs, new Float64Array(capacity));
    this.#capacity = capacity;
  }
}

function resized<T extends Column>(from: T, to: T): T {
  to.set(from.length > to.length ? from.subarray(0, to.length) : from);
  return to;
}
