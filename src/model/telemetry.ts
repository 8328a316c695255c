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

/** Identifies a GPU of a machine. Null: unknown. Ids from different tools are normalized. */
export interface GpuIdentity {
  /** As nvidia-smi numbers GPUs, or as a process does. They agree only where the process sees all GPUs. */
  readonly index: number | null;
  readonly name: string | null;
  /** In the form of `uuidKey`. */
  readonly uuid: string | null;
  /** In the form of `pciKey`. */
  readonly pci: string | null;
}

/** `GPU-1A2B…` of nvidia-smi and `1a2b…` of torch are the same. */
export function uuidKey(text: string): string | null {
  const key = text.trim().toLowerCase().replace(/^gpu-/, '');
  return /^[0-9a-f-]{8,64}$/.test(key) ? key : null;
}

/** `00000000:07:00.0`, `0000:07:00.0` and `07:00.0` become `0:7:0`: domain, bus and device in hexadecimal. */
export function pciKey(text: string): string | null {
  const match = /^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.[0-9a-f])?$/i.exec(text.trim());
  if (!match) return null;
  const [domain, bus, device] = match.slice(1).map((hex = '0') => Number.parseInt(hex, 16));
  return pciKeyOf(domain!, bus!, device!);
}

/** The same from numbers, as torch has them. */
export function pciKeyOf(domain: number, bus: number, device: number): string {
  return [domain, bus, device].map((n) => n.toString(16)).join(':');
}
