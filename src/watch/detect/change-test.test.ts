import { expect, it } from 'vitest';
import { randomNormal } from '../../../test/helpers/watched-job.js';
import { ChangeTest } from './change-test.js';

const LIMIT = Math.log(1 / 0.05);

/** Whether the evidence ever reaches 1/0.05 in so many values. */
function everAlarms(values: number, next: () => number): boolean {
  const test = new ChangeTest();
  for (let i = 0; i < values; i++) {
    test.add(next());
    if (test.evidence >= LIMIT) return true;
  }
  return false;
}

it('a series without a change reaches 1/α in at most a share α of the runs, whenever one looks', () => {
  const random = randomNormal(3);
  // Skewed: rarely far above the mean. Mean 0, variance 1.
  const skewed = () => (random() > 1.2816 ? 3 : -1 / 3);
  for (const next of [random, skewed]) {
    const alarms = Array.from({ length: 200 }, () => everAlarms(2000, next)).filter(Boolean).length;
    expect(alarms).toBeLessThanOrEqual(20);
  }
});

it('a change is found, and so is when it began', () => {
  const random = randomNormal(5);
  const test = new ChangeTest();
  for (let i = 0; i < 3000; i++) test.add(random());
  expect(test.evidence).toBeLessThan(LIMIT);
  let after = 0;
  while (test.evidence < LIMIT && after < 200) {
    test.add(1 + random());
    after++;
  }
  expect(after).toBeLessThan(80);
  expect(Math.abs(test.age - after)).toBeLessThan(15);
});

it('one value, however far off, is no change', () => {
  const test = new ChangeTest();
  for (let i = 0; i < 100; i++) test.add(i === 50 ? 1e9 : 0);
  expect(test.evidence).toBeLessThan(LIMIT);
});
