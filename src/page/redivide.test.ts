import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  sharesOfClasses,
  sumOfClasses,
  TIME_CLASSES,
  type TimeByClass,
  totals,
} from '../facts/time-class.js';
import { redivide } from './rank-steps.js';

const time = (of: Partial<TimeByClass> | Record<string, number>) =>
  totals((c) => (of as Record<string, number>)[c] ?? 0);
const total = (steps: readonly TimeByClass[]) => totals((c) => steps.reduce((sum, s) => sum + s[c], 0));

describe('redivide', () => {
  it('tells operators outside the model’s phases as computing, in the step that has more of them too', () => {
    const steps = [
      time({ compute: 40, idle_host: 60 }),
      time({ compute: 40, idle_host: 100, idle_data: 20 }),
    ];
    const moved = steps.map(redivide(total(steps), time({ compute: 216, idle_host: 24, idle_data: 20 })));
    expect(moved[0]).toMatchObject({ compute: 91, idle_host: 9, idle_data: 0 });
    expect(moved[1]).toMatchObject({ compute: 125, idle_host: 15, idle_data: 20 });
  });

  it('gives the total the shares that were asked for, and leaves every step as long as it was', () => {
    const aStep = fc
      .array(fc.nat({ max: 1e9 }), { minLength: TIME_CLASSES.length, maxLength: TIME_CLASSES.length })
      .map((times) => totals((c) => times[TIME_CLASSES.indexOf(c)]!));
    const some = aStep.filter((step) => sumOfClasses(step) > 0);
    fc.assert(
      fc.property(fc.array(some, { minLength: 1, maxLength: 5 }), some, (steps, answer) => {
        const moved = steps.map(redivide(total(steps), answer));
        moved.forEach((step, i) => {
          expect(sumOfClasses(step) / sumOfClasses(steps[i]!)).toBeCloseTo(1, 6);
        });
        const [shares, asked] = [sharesOfClasses(total(moved)), sharesOfClasses(answer)];
        for (const c of TIME_CLASSES) expect(shares[c]).toBeCloseTo(asked[c], 6);
      }),
      { numRuns: 50 },
    );
  });

  it('changes nothing where nothing moved or nothing is known', () => {
    const step = time({ compute: 3, idle_data: 1 });
    expect(redivide(step, step)(step)).toEqual(step);
    expect(redivide(time({}), time({}))(step)).toEqual(step);
  });
});
