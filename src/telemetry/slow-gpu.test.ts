import { describe, expect, it } from 'vitest';
import { gpuState } from '../../test/helpers/telemetry.js';
import { ns } from '../base/units.js';
import { type LateRanks, withSlowGpus } from '../run/lateness/late-ranks.js';
import { clockLimitOf, slowAgainst } from './slow-gpu.js';

const others = [1, 2, 3].map((index) => gpuState({ index }));
const slow = (more: Parameters<typeof gpuState>[0]) => slowAgainst(gpuState(more), others, 0.97);

describe('a slow GPU', () => {
  it('a slow GPU has a lower clock, with what limits it', () => {
    expect(slow({ clock: 1050, power: 310, thermal: 0.34 })).toEqual({
      clock: 1050,
      usualClock: 1830,
      limit: { by: 'thermal', share: 0.34 },
    });
    expect(slow({ clock: 1700, power: 600 })).toMatchObject({ clock: 1700, limit: null });
  });

  it('a GPU is not slow because it differs as GPUs do, was hardly busy, or is another model', () => {
    expect(slow({ clock: 1800 })).toBeNull();
    expect(slow({ clock: 1050, busySamples: 2 })).toBeNull();
    expect(slow({ clock: null })).toBeNull();
    const named = others.map((o) => ({ ...o, name: 'NVIDIA H200' }));
    expect(slowAgainst(gpuState({ clock: 1400, name: 'NVIDIA A100' }), named, 0.97)).toBeNull();
    expect(slowAgainst(gpuState({ clock: 1400 }), [], 0.97)).toBeNull();
  });

  it('a GPU is not slow because it works while the others wait: a power limit costs clock', () => {
    const waiting = others.map((o) => gpuState({ ...o, clock: 1980, power: 320, powerCap: 0 }));
    const working = gpuState({ clock: 1830, power: 690, powerCap: 1 });
    expect(slowAgainst(working, waiting, 0.97)).toBeNull();
    // Heat does not come from harder work.
    expect(slowAgainst(gpuState({ ...working, thermal: 0.2 }), waiting, 0.97)).toMatchObject({
      limit: { by: 'thermal' },
    });
  });

  it('a slow GPU is limited by what does not limit the others', () => {
    expect(clockLimitOf(gpuState({ powerCap: 0.9 }), others)).toBeNull();
    expect(clockLimitOf(gpuState({ powerCap: 0.9 }))).toEqual({ by: 'powerCap', share: 0.9 });
    expect(clockLimitOf(gpuState({ powerCap: 0.9, slowdown: 0.1 }))).toEqual({ by: 'slowdown', share: 0.1 });
    expect(clockLimitOf(gpuState({ powerCap: null, thermal: null }))).toBeNull();
  });
});

describe('late ranks with slow GPUs', () => {
  const late: LateRanks = {
    ...{ ranks: [1], pattern: 'persistent', cause: 'unknown', cost: ns(1e6), confidence: 0.9 },
    ...{ location: null, steps: [1] },
  };
  const hot = gpuState({ index: 1, clock: 1200, power: 400, thermal: 0.5 });
  const gpus = new Map([0, 1, 2, 3].map((rank) => [rank, rank === 1 ? hot : gpuState({ index: rank })]));

  it('late ranks with slow GPUs have the GPU as their cause', () => {
    expect(withSlowGpus([late], gpus)).toMatchObject([{ cause: 'gpu', slowGpu: { clock: 1200 } }]);
  });

  it('keep a known cause, and delays that telemetry does not explain', () => {
    expect(withSlowGpus([{ ...late, cause: 'data' }], gpus)).toEqual([{ ...late, cause: 'data' }]);
    expect(withSlowGpus([{ ...late, ranks: [2] }], gpus)).toEqual([{ ...late, ranks: [2] }]);
    expect(withSlowGpus([{ ...late, ranks: [1, 2] }], gpus)).toMatchObject([{ cause: 'unknown' }]);
    expect(withSlowGpus([{ ...late, ranks: [] }], gpus)).toMatchObject([{ cause: 'unknown' }]);
    expect(withSlowGpus([late], new Map())).toEqual([late]);
  });
});
