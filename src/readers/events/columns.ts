import type { EventLogHeader, EventLogRun } from '../../model/event-log.js';
import { GrowingColumns } from '../common/growing-columns.js';
import type { EventRecord } from './event-record.js';

/** The rows of one run: 52 bytes each. */
export class RunColumns {
  readonly #growing = new GrowingColumns({
    name: Uint16Array,
    step: Float64Array,
    rank: Int32Array,
    durationMs: Float64Array,
    startMs: Float64Array,
    micro: Int32Array,
    clock: Uint8Array,
    hostMs: Float64Array,
    lagMs: Float64Array,
    profiler: Uint8Array,
  });

  readonly #outside = new GrowingColumns({
    step: Float64Array,
    rank: Int32Array,
    name: Uint16Array,
    ms: Float64Array,
  });

  get rows(): number {
    return this.#growing.rows;
  }

  append(record: EventRecord, name: number, rank: number): void {
    const row = this.#growing.addRow();
    const { columns } = this.#growing;
    columns.name[row] = name;
    columns.step[row] = record.step;
    columns.rank[row] = rank;
    columns.durationMs[row] = record.durationMs;
    columns.startMs[row] = record.startMs;
    columns.micro[row] = record.micro;
    columns.clock[row] = record.clock;
    columns.hostMs[row] = record.hostMs;
    columns.lagMs[row] = record.lagMs;
    columns.profiler[row] = record.profiler;
  }

  /** Time outside steps, as it stood when the record's step began. */
  appendOutside({ step }: EventRecord, name: number, rank: number, ms: number): void {
    const row = this.#outside.addRow();
    const { columns } = this.#outside;
    columns.step[row] = step;
    columns.rank[row] = rank;
    columns.name[row] = name;
    columns.ms[row] = ms;
  }

  /** Call once. */
  finish(id: string | null, header: EventLogHeader | null, names: readonly string[]): EventLogRun {
    const outside = this.#outside.finish();
    return { id, header, names, rows: this.rows, ...this.#growing.finish(), outside };
  }
}
