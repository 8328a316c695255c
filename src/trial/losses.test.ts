import { describe, expect, it } from 'vitest';
import { compareLosses } from './losses.js';

const base = Array.from({ length: 20 }, (_, i) => 3 - 0.1 * i);
const scaled = (by: number) => base.map((loss) => loss * (1 + by));

describe('losses of the same steps', () => {
  it.each([
    ['identical', base, 0],
    ['rounding', scaled(1e-6), 1e-6],
    ['differs', scaled(0.02), 0.02],
  ] as const)('%s', (verdict, fixed, difference) => {
    const found = compareLosses(base, fixed, [base]);
    expect(found.verdict).toBe(verdict);
    expect(found.difference).toBeCloseTo(difference, 9);
    expect(found.steps).toBe(20);
  });

  it('may differ as much as turns of the job as it is do', () => {
    expect(compareLosses(base, scaled(0.02), [scaled(-0.03)]).verdict).toBe('as-between-runs');
    expect(compareLosses(base, scaled(0.2), [scaled(-0.03)]).verdict).toBe('differs');
  });

  it('compare the steps that both have', () => {
    expect(compareLosses(base, base.slice(0, 7), [])).toEqual({
      verdict: 'identical',
      difference: 0,
      steps: 7,
      same: 7,
    });
  });

  it('may be the very same at first: the data then come in another order', () => {
    const reordered = [...base.slice(0, 5), ...scaled(0.2).slice(5)];
    expect(compareLosses(base, reordered, [])).toMatchObject({ verdict: 'differs', same: 5 });
    expect(compareLosses(base, scaled(0.2), [])).toMatchObject({ verdict: 'differs', same: 0 });
  });

  it('may not be known, or no numbers any more', () => {
    expect(compareLosses([null, null], [1, 2], []).verdict).toBe('unknown');
    expect(compareLosses([], [], []).verdict).toBe('unknown');
    expect(compareLosses([1, 2], [1, 'nan'], [])).toMatchObject({ verdict: 'differs', difference: Infinity });
    expect(compareLosses([1, 'nan'], [1, 'nan'], []).verdict).toBe('identical');
  });
});
