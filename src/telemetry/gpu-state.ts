import { largest, mean, median } from '../base/statistics.js';
import { type Share, share } from '../base/units.js';
import type { GpuIdentity, GpuTelemetry, TelemetryField } from '../model/telemetry.js';

/** One GPU over a whole log. Plain data that moves between threads. Null: the log does not say. */
export interface GpuState extends GpuIdentity {
  readonly samples: number;
  /** Time of the last sample (`GpuTelemetry.timeNs`), comparable between logs of one machine. */
  readonly untilNs: number | null;
  /** Samples in which the GPU was busy; all samples where utilization was not recorded. */
  readonly busySamples: number;
  /** Percent, mean over all samples. */
  readonly utilization: number | null;
  /** MHz, mean over busy samples. */
  readonly clock: number | null;
  /** MHz: the device's maximum where the log states it, else the highest of any sample. */
  readonly maxClock: number | null;
  /** Watts, median over busy samples. */
  readonly power: number | null;
  /** Watts, highest of any sample. */
  readonly maxPower: number | null;
  /** Watts. */
  readonly powerLimit: number | null;
  /** Degrees Celsius, highest. */
  readonly temperature: number | null;
  /** Share of busy time in which the clock was limited: by the power limit, by heat, by the hardware. */
  readonly powerCap: Share | null;
  readonly thermal: Share | null;
  readonly slowdown: Share | null;
}

/** Percent. Below it clocks and power tell more about waiting than about work. */
const BUSY = 80;

export function summarizeTelemetry(telemetry: GpuTelemetry): GpuState[] {
  const rowsOf = telemetry.gpus.map((): number[] => []);
  for (let row = 0; row < telemetry.rows; row++) rowsOf[telemetry.gpu[row]!]!.push(row);
  return telemetry.gpus.map((gpu, index) => stateOf(gpu, telemetry, rowsOf[index]!));
}

function stateOf(gpu: GpuIdentity, telemetry: GpuTelemetry, rows: readonly number[]): GpuState {
  const values = (field: TelemetryField, among: readonly number[]) =>
    among.map((row) => telemetry[field][row]!).filter((v) => !Number.isNaN(v));
  const utilization = values('utilization', rows);
  const busy = utilization.length > 0 ? rows.filter((row) => telemetry.utilization[row]! >= BUSY) : [...rows];
  const inBusy = (field: TelemetryField) => values(field, busy);
  const shareOf = (field: TelemetryField) => known(share(mean(inBusy(field))));
  const maximum = values('maxSmClock', rows);
  return {
    ...gpu,
    samples: rows.length,
    busySamples: busy.length,
    utilization: known(mean(utilization)),
    untilNs: known(largest(rows.map((row) => telemetry.timeNs[row]!))),
    clock: known(mean(inBusy('smClock'))),
    maxClock: known(largest(maximum.length > 0 ? maximum : values('smClock', rows))),
    power: known(median(inBusy('power'))),
    maxPower: known(largest(values('power', rows))),
    powerLimit: known(median(values('powerLimit', rows))),
    temperature: known(largest(values('temperature', rows))),
    powerCap: shareOf('powerCap'),
    thermal: shareOf('thermal'),
    slowdown: shareOf('slowdown'),
  };
}

const known = <T extends number>(value: T): T | null => (Number.isFinite(value) ? value : null);

/** One GPU over its log, in a bounded number of points. Plain data that moves between threads. NaN: not recorded. */
export interface GpuSeries {
  /** Samples that one point is the mean of. */
  readonly samplesPerPoint: number;
  /** Percent. */
  readonly utilization: Float32Array;
  /** MHz. */
  readonly clock: Float32Array;
  /** Watts. */
  readonly power: Float32Array;
}

const MAX_POINTS = 240;

/** In the order of `telemetry.gpus`. */
export function seriesOf(telemetry: GpuTelemetry): GpuSeries[] {
  const rowsOf = telemetry.gpus.map((): number[] => []);
  for (let row = 0; row < telemetry.rows; row++) rowsOf[telemetry.gpu[row]!]!.push(row);
  return rowsOf.map((rows) => {
    const samplesPerPoint = Math.max(1, Math.ceil(rows.length / MAX_POINTS));
    const points = (field: TelemetryField) =>
      Float32Array.from({ length: Math.ceil(rows.length / samplesPerPoint) }, (_, p) => {
        const values = rows
          .slice(p * samplesPerPoint, (p + 1) * samplesPerPoint)
          .map((row) => telemetry[field][row]!)
          .filter((v) => !Number.isNaN(v));
        return values.reduce((sum, v) => sum + v, 0) / values.length;
      });
    return {
      samplesPerPoint,
      utilization: points('utilization'),
      clock: points('smClock'),
      power: points('power'),
    };
  });
}
