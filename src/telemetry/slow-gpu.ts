import { mean, median } from '../base/statistics.js';
import type { GpuState } from './gpu-state.js';

/** A GPU whose clock is lower than that of others which do the same work. */
export interface SlowGpu {
  /** MHz. */
  readonly clock: number;
  readonly usualClock: number;
  readonly held: Held | null;
}

/** What held the clock down most. */
export interface Held {
  readonly by: 'thermal' | 'slowdown' | 'powerCap';
  /** Of its busy time. */
  readonly share: number;
}

/** Fewer samples at work say nothing about a clock. */
export const LEAST_SAMPLES = 3;
/** A share of the busy time below this is a moment, not a state. */
export const LEAST_HELD = 0.05;
/** Watts beyond those of the others by this: it works while they wait, and under a power limit that costs clock. */
const WORKS_HARDER = 1.1;

/**
 * How a GPU compares with others; null where it is not slower, or where it is only because it works harder: ranks that
 * wait for a late one spin in a collective with little power and a high clock. `below`: of their clock.
 */
export function slowAgainst(gpu: GpuState, others: readonly GpuState[], below: number): SlowGpu | null {
  const peers = others.filter((o) => isComparable(gpu, o));
  if (peers.length === 0 || !isMeasured(gpu)) return null;
  const usualClock = median(peers.map((p) => p.clock!));
  if (!(gpu.clock! < below * usualClock)) return null;
  const held = heldBy(gpu, peers);
  const heat = held !== null && held.by !== 'powerCap';
  const usualPower = median(peers.map((p) => p.power ?? Number.NaN));
  if (!heat && gpu.power !== null && gpu.power > WORKS_HARDER * usualPower) return null;
  return { clock: gpu.clock!, usualClock, held };
}

/** What holds a GPU's clock down, more than that of the others. Heat goes first: a power limit is as designed. */
export function heldBy(gpu: GpuState, peers: readonly GpuState[] = []): Held | null {
  for (const by of ['thermal', 'slowdown', 'powerCap'] as const) {
    const share = gpu[by] ?? 0;
    const usual = peers.length > 0 ? mean(peers.map((p) => p[by] ?? 0)) : 0;
    if (share >= LEAST_HELD + usual) return { by, share };
  }
  return null;
}

const isMeasured = (gpu: GpuState) => gpu.clock !== null && gpu.busySamples >= LEAST_SAMPLES;

function isComparable(gpu: GpuState, other: GpuState): boolean {
  const sameModel = gpu.name === null || other.name === null || gpu.name === other.name;
  return other !== gpu && sameModel && isMeasured(other);
}
