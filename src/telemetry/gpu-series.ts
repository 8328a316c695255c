import type { GpuTelemetry, TelemetryField } from '../model/telemetry.js';

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
