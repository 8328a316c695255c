import { lowerBound } from '../base/search.js';
import type { GpuTelemetry, TelemetryField } from '../model/telemetry.js';
import { sortByTime } from '../model/time-order.js';
import type { Trace } from '../model/trace.js';
import { NO_I32 } from '../model/trace-data.js';

/** The part of a rank's recording, in ns since 1970: `baseNs + from` to `baseNs + to`. */
interface Recording {
  readonly from: number;
  readonly to: number;
  readonly baseNs: bigint;
}

const FIELDS: readonly (readonly [TelemetryField, title: string, unit: Counter['unit']])[] = [
  ['utilization', 'GPU utilization', '%'],
  ['smClock', 'SM clock', 'MHz'],
  ['power', 'Power', 'W'],
];
/** Time zones differ by quarters of an hour, at most by 14 hours. ns. */
const QUARTER = 900e9;
const MOST_QUARTERS = 56;

/**
 * What nvidia-smi recorded about one GPU, on the clock of a trace. The log has local times of a zone that it does not name:
 * `startedNs` (when the job began, since 1970) tells the zone. Without it, a zone is taken only if no other one fits.
 */
export function telemetryCounters(
  telemetry: GpuTelemetry,
  gpu: number,
  recording: Recording,
  startedNs: number | null,
): Counter[] {
  const rows: number[] = [];
  for (let row = 0; row < telemetry.rows; row++)
    if (telemetry.gpu[row] === gpu && telemetry.timeNs[row]! > 0) rows.push(row);
  rows.sort((a, b) => telemetry.timeNs[a]! - telemetry.timeNs[b]!);
  if (rows.length === 0) return [];
  const base = Number(recording.baseNs);
  const zone = zoneOf(
    telemetry.timeNs[rows[0]!]!,
    telemetry.timeNs[rows.at(-1)!]!,
    base + (recording.from + recording.to) / 2,
    startedNs,
  );
  if (zone === null) return [];
  const times = Float64Array.from(rows, (row) => telemetry.timeNs[row]! + zone - base);
  const first = Math.max(0, lowerBound(times, recording.from) - 1);
  const last = lowerBound(times, recording.to);
  const inside = rows.slice(first, last);
  return FIELDS.flatMap(([field, title, unit]) => {
    const known = inside.flatMap((row, i) => (Number.isNaN(telemetry[field][row]!) ? [] : [{ row, i }]));
    if (known.length === 0) return [];
    return [
      {
        title,
        unit,
        time: Float64Array.from(known, ({ i }) => Math.max(recording.from, times[first + i]!)),
        value: Float64Array.from(known, ({ row }) => telemetry[field][row]!),
      },
    ];
  });
}

/** What to add to local times. Null: unknown. */
function zoneOf(first: number, last: number, middle: number, startedNs: number | null): number | null {
  const reach = (quarters: number) => {
    const zone = quarters * QUARTER;
    return first + zone <= middle && middle <= last + zone ? zone : null;
  };
  if (startedNs !== null) return reach(Math.round((startedNs - first) / QUARTER));
  const zones: number[] = [];
  for (let q = -MOST_QUARTERS; q <= MOST_QUARTERS; q++) {
    const zone = reach(q);
    if (zone !== null) zones.push(zone);
  }
  return zones.length === 1 ? zones[0]! : null;
}

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
