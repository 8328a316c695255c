import { largest } from '../base/statistics.js';
import { boardPower } from './board-power.js';
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
