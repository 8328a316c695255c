import type { Plain } from '../../src/base/units.js';
import type { GpuState } from '../../src/telemetry/gpu-state.js';

/** For tests: a busy GPU, with the figures of the zoo's H200. */
export function gpuState(more: Partial<Plain<GpuState>> = {}): GpuState {
  const state: Plain<GpuState> = {
    index: 0,
    name: null,
    uuid: null,
    pci: null,
    samples: 20,
    untilNs: null,
    busySamples: 20,
    utilization: 100,
    clock: 1830,
    maxClock: 1980,
    power: 690,
    maxPower: 700,
    powerLimit: null,
    temperature: 62,
    powerCap: 0.9,
    thermal: 0,
    slowdown: null,
    ...more,
  };
  return state as GpuState;
}
