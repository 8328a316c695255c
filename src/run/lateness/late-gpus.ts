import type { GpuState } from '../../telemetry/gpu-state.js';
import { type SlowGpu, slowAgainst } from '../../telemetry/slow-gpu.js';
import type { LateRanks } from './late-ranks.js';

/** A rank is late by 5 % of the step or more: a clock that is to explain it is lower by about as much. */
const BELOW = 0.97;

/**
 * Late ranks with what telemetry says of their GPUs. Phases alone cannot tell computing from the host: a slow clock can,
 * so there an unknown cause becomes the GPU.
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

/** Of several late ranks all must be slow; the one in the middle speaks for them. */
function slowGpuOf(ranks: readonly number[], gpus: ReadonlyMap<number, GpuState>): SlowGpu | null {
  const own = ranks.flatMap((rank) => gpus.get(rank) ?? []);
  const others = [...gpus].filter(([rank, gpu]) => !ranks.includes(rank) && !own.includes(gpu));
  const peers = [...new Set(others.map(([, gpu]) => gpu))];
  const slow = own.flatMap((gpu) => slowAgainst(gpu, peers, BELOW) ?? []);
  if (slow.length === 0 || slow.length < ranks.length) return null;
  return slow.toSorted((a, b) => a.clock - b.clock)[slow.length >> 1]!;
}
