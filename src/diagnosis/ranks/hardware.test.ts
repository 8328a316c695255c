import { describe, expect, it } from 'vitest';
import { hardwareWords, isDone, kernelText } from '../../answers/run/hardware.js';
import { findDevice } from '../../facts/device-rates.js';
import type { ShapedWork } from '../../traces/detail/hardware-use.js';
import { type Hardware, hardwareOf } from './hardware.js';
import type { TraceView } from './rank-view.js';

const H200 = findDevice('NVIDIA H200')!;
const MS = 1e6;

/** 10 ms of work that reaches this part of the H200's bf16 peak. */
const product = (part: number, more: Partial<ShapedWork> = {}): ShapedWork => ({
  operator: 'aten::mm',
  shapes: '4096×4096 · 4096×4096',
  kernel: 'nvjet_tst',
  class: 'gemm',
  precision: 'bf16',
  calls: 10,
  total: 10 * MS,
  flops: part * H200.tflops.bf16! * 1e12 * 10e-3,
  bytes: 1e6,
  ...more,
});
/** 10 ms of work that reaches this part of its bandwidth. */
const streaming = (part: number, more: Partial<ShapedWork> = {}): ShapedWork =>
  product(0, {
    operator: 'aten::add',
    class: 'elementwise',
    flops: 0,
    bytes: part * H200.memoryGBps * 1e9 * 10e-3,
    ...more,
  });

function hardware(
  works: readonly ShapedWork[],
  { idle = 0, unknown = 0, rates = H200 as typeof H200 | null } = {},
) {
  const busy = works.reduce((sum, w) => sum + w.total, 0) + unknown;
  const view = {
    rates,
    step: { unprofiled: busy + idle },
    time: { compute: busy, idle_host: idle, idle_sync: 0, idle_other: 0 },
    facts: {
      hasGpuWork: true,
      device: { name: 'NVIDIA H200' },
      kernels: [
        {
          name: 'sgemm',
          class: 'gemm',
          copy: null,
          count: 1,
          total: 30 * MS,
          grids: [{ grid: '[8, 1, 1]' }],
        },
      ],
      detail: { steps: 1, hardware: { works, total: busy } },
    },
  };
  return hardwareOf(view as unknown as TraceView)!;
}
const words = (found: Hardware, step: number, fixes: readonly number[] = []) =>
  hardwareWords(found, step, fixes).join('. ');

describe('how far a step is from its hardware', () => {
  it('is arithmetic against the peak of its number format, and traffic against the bandwidth', () => {
    const found = hardware([product(0.5), streaming(0.25)]);
    expect(found.kinds.map(({ kind, ofPeak }) => [kind, ofPeak])).toEqual([
      ['products', expect.closeTo(0.5)],
      ['streaming', expect.closeTo(0.25)],
    ]);
    expect(found.mfu).toBeCloseTo(0.25);
    // 10 → 5 ms and 10 → 2.5 ms.
    expect(found.atMost).toBeCloseTo(20 / 7.5);
  });

  it('counts gaps between kernels, and leaves work without shapes as it is', () => {
    const found = hardware([product(0.5)], { idle: 5 * MS, unknown: 10 * MS });
    expect(found.atMost).toBeCloseTo(25 / 15);
    expect(found.unknown).toBeCloseTo(0.5);
    expect(words(found, 25 * MS)).toContain('The shapes of 50% of the GPU’s time are not known, so');
  });

  it('names the longest kernels if most of the time has no known shapes', () => {
    const kernels = hardware([product(0.5)], { unknown: 30 * MS }).kernels;
    expect(kernels).toMatchObject([{ operator: null, kernel: 'sgemm', shapes: 'grid [8, 1, 1]' }]);
    expect(kernelText({ ...kernels[0]!, calls: 1 })).toContain(', 1 call');
  });

  it('is done where kernels are as fast as good ones get and no fix promises anything', () => {
    const found = hardware([product(0.8)]);
    expect(isDone(found, [])).toBe(true);
    expect(isDone(found, [1.2])).toBe(false);
    expect(words(found, 10 * MS)).toContain('You are done here');
    expect(isDone(hardware([product(0.4)]), [])).toBe(false);
    expect(isDone(hardware([product(0.8)], { unknown: 5 * MS }), [])).toBe(false);
  });

  it('never asks tiny kernels for more than a launch allows', () => {
    const tiny = streaming(0.01, { calls: 4000 });
    expect(hardware([tiny]).reachable).toBeCloseTo(1);
    expect(hardware([tiny]).atMost).toBeGreaterThan(10);
  });

  it('names the work from which most time could be won, with its limit', () => {
    const found = hardware([
      product(0.7, { operator: 'aten::bmm' }),
      product(0.3),
      streaming(0.2),
      streaming(0.8),
    ]);
    expect(found.kernels.map((k) => [k.operator, k.bound, Number(k.ofLimit!.toFixed(2))])).toEqual([
      ['aten::add', 'memory', 0.2],
      ['aten::mm', 'compute', 0.3],
      ['aten::bmm', 'compute', 0.7],
    ]);
    expect(kernelText(found.kernels[1]!)).toBe(
      'aten::mm 4096×4096 · 4096×4096: 10.0 ms per step, 10 calls, 297 TFLOP/s, 30% of the peak',
    );
  });

  it('shows rates without shares on a device whose peaks are not known', () => {
    const found = hardware([product(0.5)], { rates: null });
    expect(found).toMatchObject({ atMost: null, reachable: null, mfu: null });
    expect(words(found, 10 * MS)).toMatch(
      /495 TFLOP\/s\. The peaks of NVIDIA H200 are not in whyslow’s table/,
    );
    expect(isDone(found, [])).toBe(false);
  });

  it('leaves work whose peak the data sheet does not state as it is', () => {
    const found = hardware([product(0.5, { precision: 'unknown' })]);
    expect(found.atMost).toBeCloseTo(1);
    expect(found.mfu).toBeNull();
  });
});
