import { describe, expect, it } from 'vitest';
import { NO_SPANS, unionOf } from '../../base/intervals.js';
import { coldSteps, recurring } from './start-up.js';
import type { StepTimes } from './step-times.js';

function timesOf(periods: readonly number[]): StepTimes {
  let frontier = 0;
  const steps = periods.map((period, index) => {
    frontier += period;
    return { index, hostStart: frontier - period, hostEnd: frontier, frontier, works: 10 };
  });
  return { source: 'profiler', steps, cut: false, begin: 0, followsStep: false, stepOf: new Int32Array(0) };
}
/** The first step takes 1000, 900 of it to load code. */
const LOADING = unionOf([[50, 950]]);

describe('the first steps of a cold recording', () => {
  const cold = (periods: readonly number[], input = NO_SPANS) => coldSteps(timesOf(periods), LOADING, input);

  it('are start-up as long as loading code explains their length', () => {
    expect(cold([1000, 100, 100, 100])).toEqual({ startUp: 1, thenWarmsUp: false });
    expect(coldSteps(timesOf([1000, 100, 100]), NO_SPANS, NO_SPANS).startUp).toBe(0);
  });

  it('are followed by one that warms up if it is longer than all later ones', () => {
    expect(cold([1000, 130, 100, 104]).thenWarmsUp).toBe(true);
    expect(cold([1000, 110, 100, 104]).thenWarmsUp).toBe(false);
    expect(cold([1000, 130, 100, 131]).thenWarmsUp).toBe(false);
    expect(cold([100, 130, 100, 104]).thenWarmsUp).toBe(false);
  });

  it('are not followed by one that warms up if that one waits for input, which may come back', () => {
    expect(cold([1000, 130, 100, 104], unionOf([[1000, 1025]])).thenWarmsUp).toBe(false);
  });
});

describe('start-up in every step', () => {
  const compiling = unionOf([
    [0, 500],
    [1000, 1040],
    [1100, 1140],
    [1200, 1240],
  ]);

  it('recurs by as much as the usual step has of it', () => {
    expect(recurring(compiling, timesOf([1000, 100, 100, 100]))).toBe(40);
  });

  it('does not recur if most steps have none, or only one step was recorded', () => {
    expect(recurring(LOADING, timesOf([1000, 100, 100]))).toBe(0);
    expect(recurring(LOADING, timesOf([1000, 100]))).toBe(0);
    expect(recurring(LOADING, timesOf([1000]))).toBe(0);
  });
});
