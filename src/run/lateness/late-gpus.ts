import type { GpuState } from '../../telemetry/gpu-state.js';
import { type SlowGpu, slowAgainst } from '../../telemetry/slow-gpu.js';
import type { LateRanks } from './late-ranks.js';

/** A clock explains a late rank when it is below this share of the others' clocks: a late rank is late by 5 % or more. */
const SLOW_CLOCK = 0.97;

/**
 * Adds what telemetry says about the GPUs of late ranks. Phases of event logs cannot tell computing from host time, but a
 * slow clock can: there an unknown cause becomes the GPU.
 */
export function withSlowGpus(
  late: readonly LateRanks[],
  gpus: ReadonlyMap<number, GpuState>,
): readonly LateRanks[] {
  return late.map((l) => {
    if (l.cause !== 'gpu' && l.cause !== 'unknown') return l;
    const slowGpu = slowGpuOf(l.ranks, gpus);
    return slowGpu ? { ...l, cause: 'gpu', slowGpu } : l;
  });
}

/** The median slow GPU of the late ranks; null unless all of them are slow. */
function slowGpuOf(ranks: readonly number[], gpus: ReadonlyMap<number, GpuState>): SlowGpu | null {
  const own = ranks.flatMap((rank) => gpus.get(rank) ?? []);
  const others = [...gpus].filter(([rank, gpu]) => !ranks.includes(rank) && !own.includes(gpu));
  const peers = [...new Set(others.map(([, gpu]) => gpu))];
  const slow = own.flatMap((gpu) => slowAgainst(gpu, peers, SLOW_CLOCK) ?? []);
  if (slow.length === 0 || slow.length < ranks.length) return null;
  return slow.toSorted((a, b) => a.clock - b.clock)[slow.length >> 1]!;
}
