import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plain } from '../base/units.js';
import { TIME_CLASSES, type TimeByClass, totals } from '../facts/time-class.js';
import { areRegular, atPace, biasOf } from './pace.js';

const time = (given: Partial<Plain<TimeByClass>>) => totals((c) => given[c] ?? 0);
const sum = (t: TimeByClass) => TIME_CLASSES.reduce((ns, c) => ns + t[c], 0);

describe('recorded steps against all steps', () => {
  it.each([
    ['alike', 100, { mean: 100, median: 100 }, null],
    ['nearly alike', 100, { mean: 92, median: 108 }, null],
    ['something is in the recorded ones only', 300, { mean: 120, median: 120 }, 'recorded-slower'],
    ['something is in the others only', 100, { mean: 130, median: 130 }, 'others-slower'],
    ['a pause now and then is no step', 100, { mean: 500, median: 101 }, null],
    ['one recorded step in ten had a checkpoint', 300, { mean: 120, median: 100 }, 'recorded-slower'],
    ['there is no gap', 100, { mean: Number.NaN, median: Number.NaN }, null],
  ])('recorded steps against all steps: %s', (_, recorded, gaps, bias) =>
    expect(biasOf(recorded, gaps)).toBe(bias),
  );
});

it.each([
  ['every tenth', [0, 10, 20, 30], true],
  ['some of them are missing', [10, 30, 40, 80], true],
  ['varying steps', [0, 16, 22, 38], false],
  ['all', [5, 6, 7, 8], false],
  ['one', [5], false],
])('recorded at a fixed stride: %s', (_, steps, regular) => expect(areRegular(steps)).toBe(regular));

describe('a step at the pace of the run', () => {
  it('a step at the pace of the run has less of the largest pause, and only then less computing', () => {
    const recorded = time({ compute: 80, idle_host: 900, idle_data: 20 });
    expect(atPace(recorded, 300, true)).toEqual(time({ compute: 80, idle_host: 200, idle_data: 20 }));
    expect(atPace(recorded, 90, true)).toEqual(time({ compute: 80, idle_data: 10 }));
    expect(atPace(recorded, 60, true)).toEqual(time({ compute: 60 }));
  });

  it('a step at the pace of the run has unexplained time where other steps take longer', () => {
    expect(atPace(time({ compute: 80, idle_other: 5 }), 100, true)).toEqual(
      time({ compute: 80, idle_other: 20 }),
    );
  });

  it('a step at the pace of the run has more of everything where the job became slower', () => {
    const recorded = time({ compute: 20, idle_data: 60 });
    expect(atPace(recorded, 100, false)).toEqual(time({ compute: 25, idle_data: 75 }));
    expect(atPace(recorded, 60, false)).toEqual(time({ compute: 20, idle_data: 40 }));
  });

  it('adds up', () => {
    const classes = fc.array(fc.nat(1e9), { minLength: TIME_CLASSES.length, maxLength: TIME_CLASSES.length });
    fc.assert(
      fc.property(classes, fc.nat(1e10), fc.boolean(), (values, step, regular) => {
        const paced = atPace(
          totals((c) => values[TIME_CLASSES.indexOf(c)]!),
          step,
          regular,
        );
        expect(sum(paced)).toBeCloseTo(step, -1);
        expect(Math.min(...Object.values(paced))).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
