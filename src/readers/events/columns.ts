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

  /** Call once. */
  finish(id: string | null, header: EventLogHeader | null, names: readonly string[]): EventLogRun {
    return { id, header, names, rows: this.rows, ...this.#growing.finish() };
  }
}
