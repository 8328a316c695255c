import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import { SIMULATIONS } from '../../../test/helpers/step-times.js';
import { compareStepTimes } from './compare-step-times.js';
import { Random } from './random.js';

const noisy = (count: number, ms: number, seed: number, noise = 0.05) => {
  const random = new Random(seed);
  return Array.from({ length: count }, () => ms * Math.exp(noise * random.normal()));
};

describe('compareStepTimes', () => {
  it('finds 5% and says how far it is sure', () => {
    const { speedup, verdict, before, after } = compareStepTimes([noisy(200, 100, 1)], [noisy(200, 105, 2)]);
    expect(verdict).toBe('slower');
    expect(speedup.likely).toBeCloseTo(after.ms > 0 ? before.ms / after.ms : 0, 6);
    expect(speedup.low).toBeLessThan(1 / 1.05);
    expect(speedup.high).toBeGreaterThan(1 / 1.05);
  });

  it('gives the inverse for the other direction', () => {
    for (const [a, b] of [
      [noisy(30, 100, 1, 0.3), noisy(12, 140, 2, 0.3)],
      [noisy(200, 100, 3), noisy(200, 101, 4)],
    ] as const) {
      const [there, back] = [compareStepTimes([a], [b]).speedup, compareStepTimes([b], [a]).speedup];
      expect(there.low * back.high).toBeCloseTo(1, 6);
      expect(there.high * back.low).toBeCloseTo(1, 6);
      expect(there.likely * back.likely).toBeCloseTo(1, 6);
    }
  });

  it('says that nothing changed where the interval is narrow around 1', () => {
    expect(compareStepTimes([noisy(500, 100, 1, 0.02)], [noisy(500, 100, 2, 0.02)]).verdict).toBe('same');
  });

  it('a few noisy steps are inconclusive, and the answer says how many more would settle it', () => {
    const few = compareStepTimes([noisy(12, 100, 30, 0.12)], [noisy(12, 112, 40, 0.12)]);
    expect(few).toMatchObject({ verdict: 'cannot-tell', enough: false });
    expect(few.moreSteps).toBeGreaterThan(12);
    const more = 12 + few.moreSteps!;
    expect(compareStepTimes([noisy(more, 100, 5, 0.12)], [noisy(more, 112, 6, 0.12)]).verdict).toBe('slower');
  });

  it('counts how much runs of one side differ, however long they are', () => {
    const runs = (means: number[], seed: number) => means.map((ms, i) => noisy(1000, ms, seed + i, 0.02));
    const apart = compareStepTimes(runs([100, 104, 98], 10), runs([103, 98, 102], 20));
    expect(apart.verdict).toBe('cannot-tell');
    expect(apart.spread).toBeGreaterThan(0.02);
    expect(apart.moreSteps).toBeNull();
    expect(apart.moreRuns).toBeGreaterThanOrEqual(3);
    expect(compareStepTimes(runs([100, 101, 99.5], 10), runs([106, 107, 105], 20)).verdict).toBe('slower');
  });

  it('leaves rare pauses out and counts them', () => {
    const steps = noisy(200, 100, 7).map((ms, i) => (i === 50 ? 9000 : ms));
    const { after, verdict } = compareStepTimes([noisy(200, 100, 8)], [steps]);
    expect(verdict).toBe('same');
    expect(after.pauses).toBe(1);
    expect(after.pausedMs).toBeCloseTo((9000 - 115) / 200, -1);
  });

  it('keeps one long step among nine: with eight workers, every ninth step may wait', () => {
    const waits = [2.8, 161, 2.6, 2.4, 2.7, 4.9, 3.1, 2.8, 3.8];
    const { after, speedup } = compareStepTimes([noisy(29, 84, 10)], [waits]);
    expect(after).toMatchObject({ pauses: 0, pausedMs: 0 });
    expect(after.ms).toBeCloseTo(20.7, 1);
    expect(speedup.likely).toBeCloseTo(84 / 20.7, 0);
  });

  it('keeps long steps that come often', () => {
    const bursts = Array.from({ length: 160 }, (_, i) => (i % 8 === 0 ? 400 : 60 + (i % 3)));
    const { after, verdict } = compareStepTimes([noisy(160, 60, 9, 0.02)], [bursts]);
    expect(after.ms).toBeGreaterThan(100);
    expect(verdict).toBe('slower');
  });

  it('one or two steps show only large differences', () => {
    expect(compareStepTimes([[100]], [[150]]).verdict).toBe('cannot-tell');
    expect(compareStepTimes([[100]], [[150]]).moreSteps).toBe(49);
    expect(compareStepTimes([[100]], [[1000]]).verdict).toBe('slower');
    expect(compareStepTimes([[100, 100.1]], [[120, 120.1]]).verdict).toBe('cannot-tell');
  });

  it('takes several runs of one figure each', () => {
    expect(compareStepTimes([[100], [101], [99]], [[150], [148], [152]]).verdict).toBe('slower');
  });

  it('gives the same answer twice, and the opposite one the other way round', () => {
    const sides = [[noisy(60, 100, 11)], [noisy(60, 110, 12)]] as const;
    const once = compareStepTimes(sides[0], sides[1]);
    expect(compareStepTimes(sides[0], sides[1])).toEqual(once);
    const back = compareStepTimes(sides[1], sides[0]);
    expect(back.speedup.likely).toBeCloseTo(1 / once.speedup.likely, 9);
    expect(back.speedup.low).toBeCloseTo(1 / once.speedup.high, 1);
  });

  it('gives finite figures for any steps that can be, however far apart they are', () => {
    const run = fc.array(fc.constantFrom(1e-6, 1e-3, 1, 100, 101, 1e6, 1e12), {
      minLength: 1,
      maxLength: 40,
    });
    const side = fc.array(run, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(side, side, (before, after) => {
        const {
          speedup,
          spread,
          drift,
          before: left,
          after: right,
          ...more
        } = compareStepTimes(before, after);
        const figures = [speedup.low, speedup.likely, speedup.high, spread ?? 0, drift, left.ms, right.ms];
        const advice = [more.moreSteps ?? 0, more.moreRuns ?? 0, more.assumedSpread ?? 0, left.pausedMs];
        for (const figure of [...figures, ...advice]) expect(Number.isFinite(figure)).toBe(true);
      }),
      { numRuns: cases(30, 300) },
    );
  });

  it('holds the likely value between low and high for any steps', () => {
    const run = fc.array(fc.double({ min: 0.001, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 40 });
    const side = fc.array(run, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(side, side, (before, after) => {
        const { speedup, verdict } = compareStepTimes(before, after);
        expect(speedup.low).toBeLessThanOrEqual(speedup.likely);
        expect(speedup.high).toBeGreaterThanOrEqual(speedup.likely);
        expect(['faster', 'slower', 'same', 'cannot-tell']).toContain(verdict);
      }),
      { numRuns: 60 },
    );
  });
});

/** The smaller version of `npm run bench:compare`. */
describe('how often it is wrong', () => {
  const REPEATS = 6;
  const STEPS = 200;

  it('rarely sees a difference where there is none', () => {
    const random = new Random(1);
    let alarms = 0;
    for (const { steps } of SIMULATIONS)
      for (let i = 0; i < REPEATS; i++) {
        const both = steps(2 * STEPS, random);
        const { verdict } = compareStepTimes([both.slice(0, STEPS)], [both.slice(STEPS)]);
        if (verdict === 'faster' || verdict === 'slower') alarms++;
      }
    expect(alarms / (REPEATS * SIMULATIONS.length)).toBeLessThanOrEqual(0.05);
  });

  it.each(['independent steps, 5% noise', 'independent steps, 10% noise'])(
    'finds 5% in 200 steps: %s',
    (name) => {
      const random = new Random(2);
      const steady = SIMULATIONS.find((s) => s.name === name)!;
      let found = 0;
      for (let i = 0; i < 20; i++) {
        const slower = steady.steps(STEPS, random).map((ms) => 1.05 * ms);
        if (compareStepTimes([steady.steps(STEPS, random)], [slower]).verdict === 'slower') found++;
      }
      expect(found / 20).toBeGreaterThanOrEqual(0.9);
    },
  );
});
