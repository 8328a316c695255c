import type { GpuIdentity } from './gpu-identity.js';

/** Figures of one sample. All are NaN where the log does not have them. */
export const TELEMETRY_FIELDS = [
  /** Per cent of the sample's time in which any kernel ran, however small. */
  'utilisation',
  /** Per cent of the time in which memory was read or written. */
  'memoryUtilisation',
  /** MHz. */
  'smClock',
  'memoryClock',
  /** MHz: the highest the device can be set to. */
  'maxSmClock',
  /** Watts. */
  'power',
  'powerLimit',
  /** Degrees Celsius. */
  'temperature',
  /** Shares of the sample's time, 0 to 1, in which the clock was held down: by the power limit or a power brake, */
  'powerCap',
  /** by heat, */
  'thermal',
  /** by the hardware, without more being said. */
  'slowdown',
] as const;
export type TelemetryField = (typeof TELEMETRY_FIELDS)[number];

/**
 * What nvidia-smi saw of the GPUs of one machine, one row a sample of one GPU, in file order. All columns have `rows`
 * elements, own their buffer whole and can be moved to another thread.
 */
export interface GpuTelemetry extends Readonly<Record<TelemetryField, Float32Array>> {
  readonly rows: number;
  /** GPUs in order of appearance; `gpu[i]` indexes it. */
  readonly gpus: readonly GpuIdentity[];
  readonly gpu: Uint16Array;
  /**
   * Nanoseconds since 1970 on the machine's wall clock as if it showed UTC: the log does not name its time zone. NaN
   * where it has no date.
   */
  readonly timeNs: Float64Array;
}
