import { bytes, formatBytes } from '../base/units.js';
import { sortByTime } from '../model/time-order.js';
import type { Trace } from '../model/trace.js';
import { NO_I32 } from '../model/trace-data.js';

/** A figure over time. It holds from one sample to the next. */
export interface Counter {
  readonly title: string;
  readonly unit: 'bytes' | '%' | 'MHz' | 'W';
  readonly time: Float64Array;
  readonly value: Float64Array;
}

const CPU = 0;

/** Allocated and reserved memory of each device, from the allocator's records (`profile_memory=True`). */
export function memoryCounters(trace: Trace): Counter[] {
  const { memory, ts, dur } = trace.data;
  const byDevice = new Map<number, number[]>();
  memory.row.forEach((row, i) => {
    const device = memory.deviceType[i] === CPU ? -1 : memory.deviceId[i]!;
    if (device === NO_I32 || Number.isNaN(ts[row]!)) return;
    const entries = byDevice.get(device) ?? [];
    byDevice.set(device, entries);
    entries.push(i);
  });
  return [...byDevice].flatMap(([device, entries]) => {
    const entryOf = new Map(entries.map((i) => [memory.row[i]!, i]));
    const sorted = sortByTime(
      Uint32Array.from(entries, (i) => memory.row[i]!),
      ts,
      dur,
    );
    const where = device < 0 ? 'Host memory' : `GPU ${device} memory`;
    const counter = (title: string, column: Float64Array): Counter => ({
      title: `${where} ${title}`,
      unit: 'bytes',
      time: Float64Array.from(sorted, (row) => ts[row]!),
      value: Float64Array.from(sorted, (row) => column[entryOf.get(row)!]!),
    });
    const both = [counter('allocated', memory.allocated), counter('reserved', memory.reserved)];
    return both.filter((c) => c.value.some((v) => v > 0));
  });
}

export function formatCounter(value: number, unit: Counter['unit']): string {
  return unit === 'bytes' ? formatBytes(bytes(value)) : `${Math.round(value)} ${unit}`;
}
