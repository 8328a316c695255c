import { describe, expect, it } from 'vitest';
import { share } from '../base/units.js';
import { stepSentence } from './sentence.js';
import type { StepComparison } from './step-times/step-comparison.js';

const undecided = (low: number, likely: number, high: number, more: Partial<StepComparison> = {}) =>
  stepSentence(
    {
      speedup: { low, likely, high },
      verdict: 'cannot-tell',
      spread: null,
      drift: 0,
      moreSteps: 47,
      moreRuns: null,
      ...more,
    } as StepComparison,
    share(0.95),
    '',
  );

describe('inconclusive runs', () => {
  it('the sentence gives the range of the change', () => {
    expect(undecided(0.8, 1.1, 1.3)).toBe(
      '9.1% faster, but that may be noise (95% between 25.0% slower and 23.1% faster): inconclusive; record 47 more steps on each side',
    );
  });

  it('name no range that says nothing', () => {
    expect(undecided(1e-7, 1.4, 4e6, { spread: 0.688 })).toBe(
      '28.6% faster, but runs of the same side differ by 68.8%: inconclusive; record 47 more steps on each side',
    );
  });

  it('inconclusive runs are not called faster', () => {
    expect(undecided(0.8, 1.0001, 1.3)).toMatch(/^No difference seen, but that may be noise/);
  });
});
