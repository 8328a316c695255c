import { largest } from '../base/statistics.js';
import { findDevice } from '../facts/device-rates.js';
import type { GpuState } from './gpu-state.js';
import {
  BELOW_OTHERS,
  type ClockLimit,
  clockLimitOf,
  FAR_BELOW_MAXIMUM,
  LEAST_SAMPLES,
  type SlowGpu,
  STARVED,
  slowAgainst,
} from './slow-gpu.js';

/** Percent. A GPU this busy is the limit: zoo/programs/labels.py calls a loop GPU-bound from 85% on; T1 says 90%. */
export const GPU_BUSY = 85;
/** Percent: a GPU that works less is not part of a job whose GPUs are not known. */
export const GPU_WORKS = 5;

/** Why a busy GPU is slow. */
export interface Throttle {
  /** Null: the log does not say. */
  readonly limit: ClockLimit | null;
  /** Against the other GPUs. Null: it is not slower, or there are none. */
  readonly slow: SlowGpu | null;
  /** MHz. */
  readonly clock: number;
  /** MHz: the highest clock of this GPU and those like it. */
  readonly maximum: number;
}

/** Heat or the hardware holds its clock down. Running at the power limit is normal. */
export const isHeldDown = (limit: ClockLimit | null): boolean => limit !== null && limit.by !== 'powerCap';

/** Heat or the hardware holds the clock down, or it is below that of the others or far below its own maximum. */
export function throttleOf(gpu: GpuState, others: readonly GpuState[] = []): Throttle | null {
  if (gpu.clock === null || gpu.busySamples < LEAST_SAMPLES) return null;
  const limit = clockLimitOf(gpu);
  const slow = slowAgainst(gpu, others, BELOW_OTHERS);
  const maximum = largest([gpu.clock, ...[gpu, ...others].map((g) => g.maxClock ?? 0)]);
  const isSlow = isHeldDown(limit) || slow !== null || gpu.clock < FAR_BELOW_MAXIMUM * maximum;
  return isSlow ? { limit, slow, clock: gpu.clock, maximum } : null;
}

/** Watts. Null: neither the log nor the name of the GPU tells. */
export const powerLimitOf = (gpu: GpuState): number | null =>
  gpu.powerLimit ?? boardPower(gpu.name ?? '', null);

/** Always busy, with little power: its kernels do little (T2). */
export function isStarved(gpu: GpuState): boolean {
  const limit = powerLimitOf(gpu);
  return (
    limit !== null && gpu.power !== null && gpu.busySamples >= LEAST_SAMPLES && gpu.power < STARVED * limit
  );
}

/** Watts, by the names of device-rates.ts and from the same sheets. Boards with several limits or no stated one are absent. */
// biome-ignore format: a table
const WATTS: Readonly<Record<string, number>> = {
  'V100 SXM2 16GB': 300, 'V100 SXM2 32GB': 300, 'V100 PCIe 16GB': 250, 'V100 PCIe 32GB': 250, 'V100S PCIe': 250, T4: 70,
  'A100 SXM 40GB': 400, 'A100 SXM 80GB': 400, 'A100 PCIe 40GB': 250, 'A100 PCIe 80GB': 300, A30: 165, A10: 150, A40: 300,
  'RTX A6000': 300, 'GeForce RTX 3090': 350, L4: 72, L40S: 350, L40: 300, 'RTX 6000 Ada': 300, 'GeForce RTX 4090': 450,
  'GeForce RTX 5090': 575, 'H100 PCIe': 350, 'H100 SXM': 700, H200: 700, B200: 1000,
};

/** Power limit of a device in watts. Null: not known. */
export function boardPower(name: string, totalMemory: number | null): number | null {
  const device = findDevice(name, totalMemory);
  return (device && WATTS[device.name]) ?? null;
}
