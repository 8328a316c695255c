import { mean, median } from '../base/statistics.js';
import { type Share, share } from '../base/units.js';
import type { GpuState } from './gpu-state.js';

/** A GPU with a lower clock than others that do the same work. */
export interface SlowGpu {
  /** MHz. */
  readonly clock: number;
  readonly usualClock: number;
  /** What limits its clock, if the telemetry says. */
  readonly limit: ClockLimit | null;
}

export interface ClockLimit {
  readonly by: 'thermal' | 'slowdown' | 'powerCap';
  /** Share of busy time. */
  readonly share: Share;
}

/** Fewer busy samples say nothing about a clock. */
export const LEAST_SAMPLES = 3;
/** A clock that is limited for less of its busy time is healthy. */
export const LEAST_LIMITED = 0.05;
/** A busy GPU with less of its maximal clock is held down. The zoo's H200 at its power limit: 0.91 or more. */
export const FAR_BELOW_MAXIMUM = 0.85;
/** A clock below this share of the other GPUs' is low: GPUs of one model under one power limit differ by a few percent. */
export const BELOW_OTHERS = 0.9;
/** A busy GPU that draws less of its power limit does little. The zoo's loops that are always busy: 0.6 or more. */
export const STARVED = 0.4;
/** A GPU that draws this much more power than the others works while they wait. Under a power limit that costs clock. */
const WORKS_HARDER = 1.1;

/**
 * Compares a GPU with others. Null: its clock is at least `below` of theirs, or it is lower only because the GPU works
 * harder. Ranks that wait for a straggler spin in a collective with little power and a high clock.
 */
export function slowAgainst(gpu: GpuState, others: readonly GpuState[], below: number): SlowGpu | null {
  const peers = others.filter((o) => isComparable(gpu, o));
  if (peers.length === 0 || !isMeasured(gpu)) return null;
  const usualClock = median(peers.map((p) => p.clock!));
  if (!(gpu.clock! < below * usualClock)) return null;
  const limit = clockLimitOf(gpu, peers);
  const heat = limit !== null && limit.by !== 'powerCap';
  const usualPower = median(peers.map((p) => p.power ?? Number.NaN));
  if (!heat && gpu.power !== null && gpu.power > WORKS_HARDER * usualPower) return null;
  return { clock: gpu.clock!, usualClock, limit };
}

/** What limits a GPU's clock more than its peers'. Heat comes first: running at the power limit is normal. */
export function clockLimitOf(gpu: GpuState, peers: readonly GpuState[] = []): ClockLimit | null {
  for (const by of ['thermal', 'slowdown', 'powerCap'] as const) {
    const limited = gpu[by] ?? share(0);
    const usual = peers.length > 0 ? mean(peers.map((p): number => p[by] ?? 0)) : 0;
    if (limited >= LEAST_LIMITED + usual) return { by, share: limited };
  }
  return null;
}

const isMeasured = (gpu: GpuState) => gpu.clock !== null && gpu.busySamples >= LEAST_SAMPLES;

function isComparable(gpu: GpuState, other: GpuState): boolean {
  const sameModel = gpu.name === null || other.name === null || gpu.name === other.name;
  return other !== gpu && sameModel && isMeasured(other);
}
