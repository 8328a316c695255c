import { describe, expect, it } from 'vitest';
import { ns } from '../base/units.js';
import { type TimeByClass, totals } from '../facts/time-class.js';
import { evenlySpread, paceChange } from './pace-change.js';
import type { StepPeriods } from './step-periods.js';

const MS = 1e6;
/** Noise that differs from step to step and is the same in every run of the test. */
const noisy = (i: number) => 1 + 0.1 * Math.sin(7.3 * i * i);

function change(periods: readonly number[], time?: (i: number) => TimeByClass) {
  const of = time ?? ((i) => totals((c) => (c === 'compute' ? periods[i]! : 0)));
  return paceChange(
    periods.map((_, i) => 10 * i),
    periods,
    periods.map((_, i) => of(i)),
  );
}
const steps = (count: number, of: (i: number) => number) =>
  Array.from({ length: count }, (_, i) => of(i) * MS * noisy(i));

describe('paceChange', () => {
  it('finds the step from which on steps take longer, and what grew', () => {
    const slow = (i: number) => i >= 30;
    const found = change(
      steps(50, (i) => (slow(i) ? 200 : 6)),
      (i) =>
        totals((c) => (c === 'idle_data' ? (slow(i) ? 195 * MS : 1 * MS) : c === 'compute' ? 5 * MS : 0)),
    )!;
    expect(found).toMatchObject({ step: 300, isJump: true });
    expect(found.before / MS).toBeCloseTo(6, 0);
    expect(found.after / MS).toBeGreaterThan(180);
    expect(found.grew).toEqual({ class: 'idle_data', before: 1 * MS, after: 195 * MS });
  });

  it('tells growth from a jump', () => {
    expect(change(steps(60, (i) => 10 * 1.04 ** i))).toMatchObject({ isJump: false });
  });

  it.each([
    ['steps that are alike', steps(60, () => 10)],
    ['input in bursts', steps(60, (i) => (i % 8 === 0 ? 90 : 5))],
    ['one long step', steps(60, (i) => (i === 50 ? 900 : 5))],
    ['a few long steps at the end', steps(60, (i) => (i >= 57 ? 90 : 5))],
    ['steps that become faster', steps(60, (i) => (i < 20 ? 30 : 10))],
    ['steps that are 10% slower in the end', steps(60, (i) => (i < 30 ? 10 : 11))],
    ['few steps', steps(8, (i) => (i < 4 ? 5 : 50))],
    ['no step', []],
  ])('is silent about %s', (_, periods) => {
    expect(change(periods)).toBeNull();
  });
});

describe('evenlySpread', () => {
  it('thins a dense beginning to the stride of the rest', () => {
    const numbers = [...Array.from({ length: 20 }, (_, i) => i), 30, 40, 50, 60, 70, 80];
    const periods = {
      steps: numbers.map((number) => ({ number })),
      amounts: numbers.map(() => ({})),
      ns: numbers.map((n) => ns(n)),
      starts: numbers,
    } as unknown as StepPeriods;
    const { ns: kept, steps: left, starts } = evenlySpread(periods);
    expect(kept).toEqual([0, 8, 16, 30, 40, 50, 60, 70, 80]);
    expect(left).toHaveLength(kept.length);
    expect(starts).toEqual(kept);
  });
});
