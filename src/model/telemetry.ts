import type { GpuIdentity } from './gpu-identity.js';

/** Figures of one sample. All are NaN where the log does not have them. */
export const TELEMETRY_FIELDS = [
  /** Percent of the sample's time in which any kernel ran, however small. */
  'utilization',
  /** Percent of the time in which memory was read or written. */
  'memoryUtilization',
  /** MHz. */
  'smClock',
  'memoryClock',
  /** MHz: the highest clock of the device. */
  'maxSmClock',
  /** Watts. */
  'power',
  'powerLimit',
  /** Degrees Celsius. */
  'temperature',
  /** Share of the sample's time, 0 to 1, in which the power limit or a power brake held the clock down. */
  'powerCap',
  /** The same for heat. */
  'thermal',
  /** The same for a slowdown by the hardware without a stated reason. */
  'slowdown',
] as const;
export type TelemetryField = (typeof TELEMETRY_FIELDS)[number];

/**
 * What nvidia-smi reported about the GPUs of one machine: one row per sample of one GPU, in file order. All columns have
 * `rows` elements, own their buffer whole and can be moved to another thread.
 */
export interface GpuTelemetry extends Readonly<Record<TelemetryField, Float32Array>> {
  readonly rows: number;
  /** GPUs in order of appearance; `gpu[i]` indexes it. */
  readonly gpus: readonly GpuIdentity[];
  readonly gpu: Uint16Array;
  /**
   * Nanoseconds since 1970 on the machine's wall clock, read as if it were UTC: the log does not name its time zone. NaN
   * where there is no date.
   */
  readonly timeNs: Float64Array;
}

/**
 * What the versions of rocm-smi call a figure in `--json`. The first name that is there counts: of two temperatures, that of
 * the junction, the hottest place of the chip, because it is what throttles it.
 */
export const ROCM_NAMES = {
  utilization: [/^GPU use \(%\)$/],
  memoryUtilization: [/^GPU memory use \(%\)$/i, /^GPU Memory Read\/Write Activity \(%\)$/],
  smClock: [/^sclk clock speed:?$/],
  memoryClock: [/^mclk clock speed:?$/],
  power: [/^Average Graphics Package Power \(W\)$/, /^Current Socket Graphics Package Power \(W\)$/],
  powerLimit: [/^Max Graphics Package Power \(W\)$/],
  temperature: [/^Temperature \(Sensor junction\) \(C\)$/, /^Temperature \(Sensor edge\) \(C\)$/],
} as const satisfies Record<string, readonly RegExp[]>;
export type RocmFigure = keyof typeof ROCM_NAMES;
