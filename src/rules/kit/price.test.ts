import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { scaleHost, scaleWorks } from '../../replay/edits.js';
import { priceOf, stepWith } from './price.js';
import type { Edit, Price } from './rule.js';

/** 200 operators per step, 100 µs apart on the host, with kernels of `kernelUs`. */
const loop = (kernelUs: number) => `
  host 1  ProfilerStep#1 0-20000 | aten::relu 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   relu_elementwise 65-${65 + kernelUs} #1 x200@100`;
const HOST_BOUND = drawView(steps(4, 20000, loop(5)), { unprofiledMs: 20 });
const ESTIMATED = drawView(steps(4, 20000, loop(5)));
const GPU_BOUND = drawView(
  steps(
    4,
    20000,
    `
  host 1  ProfilerStep#1 0-20000 | aten::relu 0-45 x200@50 | cudaLaunchKernel 25-30 #1 x200@50
  host 1  cudaDeviceSynchronize 10000-19990
  gpu 7   relu_elementwise 40-139 #1 x200@99.7`,
  ),
  { unprofiledMs: 20 },
);
const all = () => true;
const faster: Edit = (plan) => scaleHost(plan, all, 0.5);
/** ln(likely ÷ low) and ln(high ÷ likely). */
const spread = (price: Price | null) => {
  const { low, likely, high } = price!.speedup;
  return [Math.log(likely / low), Math.log(high / likely)];
};

describe('a step that the log measured longer than the trace shows', () => {
  const measured = drawView(steps(4, 20000, loop(5)), { unprofiledMs: 100 });

  it('loses no more than the recorded part of it does', () => {
    const { unprofiled } = measured.baseline!;
    const price = priceOf(measured, faster)!;
    expect(price.speedup.likely).toBeCloseTo(100e6 / (100e6 - unprofiled / 2), 2);
    expect(price.after).toBeCloseTo(100e6 - unprofiled / 2, -5);
    expect(stepWith(measured, measured.baseline!, unprofiled / 2)).toBeCloseTo(price.after, -5);
  });

  it('takes as long as its loader, however fast the rest becomes', () => {
    expect(priceOf(measured, faster, () => 97e6)!.after).toBeCloseTo(97e6, -3);
  });
});

describe('the range of a price', () => {
  it('is narrow where the GPU sets the pace before and after', () => {
    const price = priceOf(GPU_BOUND, (plan) => scaleWorks(plan, all, 0.8));
    expect(price!.speedup.likely).toBeCloseTo(1.25, 1);
    for (const ln of spread(price)) expect(ln).toBeLessThan(0.06);
  });

  it('is as wide as two host-bound steps vary: √(2 × 0.095² + 0.04²)', () => {
    const price = priceOf(HOST_BOUND, faster);
    expect(price!.speedup.likely).toBeCloseTo(2, 1);
    for (const ln of spread(price)) expect(ln).toBeCloseTo(0.141, 2);
  });

  it('has the recording cost in it where only one of the steps depends on the host', () => {
    // Without host time the step is 200 kernels of 6 µs: √(0.095² + (1.91 × 0.095)² + 0.04²).
    const none: Edit = (plan) => scaleHost(plan, all, 0.001);
    for (const ln of spread(priceOf(ESTIMATED, none))) expect(ln).toBeCloseTo(0.209, 2);
    // A measured step has no such error.
    for (const ln of spread(priceOf(HOST_BOUND, none))) expect(ln).toBeCloseTo(0.103, 2);
  });

  it('has the uncertain parts of the fix in it', () => {
    const levels = { low: 0.8, likely: 0.5, high: 0.4 };
    const [down, up] = spread(priceOf(HOST_BOUND, (plan, level) => scaleHost(plan, all, levels[level])));
    expect(down).toBeCloseTo(Math.hypot(0.141, Math.log(1.6)), 2);
    expect(up).toBeCloseTo(Math.hypot(0.141, Math.log(1.25)), 2);
  });

  it('does not go below no gain, unless the fix itself may', () => {
    const small = (low: number): Edit => {
      const levels = { low, likely: 0.95, high: 0.95 };
      return (plan, level) => scaleHost(plan, all, levels[level]);
    };
    expect(priceOf(HOST_BOUND, small(0.95))!.speedup.low).toBe(1);
    expect(priceOf(HOST_BOUND, small(1.1))!.speedup.low).toBeCloseTo(1 / 1.1, 2);
  });

  it('is none where there is no gain', () => {
    const { low, likely, high } = priceOf(HOST_BOUND, () => {})!.speedup;
    expect([low, high]).toEqual([likely, likely]);
  });
});
