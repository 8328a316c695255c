import { describe, expect, it } from 'vitest';
import {
  analyze,
  analyzeOne,
  HEADER,
  ms,
  msByClass,
  noted,
  stepLines,
  steps,
} from '../../test/helpers/logs.js';

describe('start times', () => {
  it('give the period, also the time that no phase covers', () => {
    const facts = analyzeOne(
      HEADER,
      steps(5, 10, (n) => [
        ...[
          `data_wait 10 +${n * 50} gpu`,
          `forward 10 +${n * 50 + 10} gpu`,
          `backward 20 +${n * 50 + 20} gpu`,
        ],
        ...[`collective:all_reduce 5 +${n * 50 + 38} gpu`, `log 4 +${n * 50 + 44} host`],
      ]),
    );
    expect(facts).toMatchObject({
      stepSource: 'start-times',
      steps: 5,
      first: 5,
      last: 9,
      stepIsWhole: true,
    });
    expect(ms(facts.step)).toBe(50);
    // The collective's first 2 ms are in backward.
    expect(msByClass(facts)).toEqual({
      compute: 28,
      comms_transfer: 5,
      idle_data: 10,
      idle_host: 4,
      idle_other: 3,
    });
    expect(noted(facts)).toContain('the job’s own phases: log → what they do is not known');
  });

  it('hide a host wait behind the device', () => {
    // The host fetches from 0 to 15 while the device works on the step before until 10.
    const lines = steps(0, 9, (n) => [
      ...[
        `data_wait 15 +${n * 40} host`,
        `forward 10 +${n * 40 + 15} gpu`,
        `backward 25 +${n * 40 + 25} gpu`,
      ],
    ]);
    expect(msByClass(analyzeOne(HEADER, lines))).toEqual({ compute: 35, idle_data: 5 });
  });

  it('tell how long unrecorded steps take', () => {
    const lines = steps(0, 90, (n) => [`data_wait 1 +${n * 50} gpu`, `training_step 40 +${n * 50} gpu`], 10);
    const facts = analyzeOne(HEADER, lines);
    expect(facts).toMatchObject({ stepSource: 'training_step', steps: 10, stepIsWhole: true });
    expect(ms(facts.step)).toBe(50);
    expect(msByClass(facts)).toEqual({ compute: 39, idle_data: 1, idle_other: 10 });
    expect(noted(facts)).toMatch(/a step takes 50.0 ms; recorded steps take 40.0 ms → .*spread_steps=true/);
    const parts = steps(0, 90, (n) => [`forward 10 +${n * 50} gpu`, `backward 30 +${n * 50 + 10} gpu`], 10);
    expect(noted(analyzeOne(HEADER, parts))).toMatch(/a step takes 50.0 ms; its phases explain 40.0 ms/);
    // An evaluation after step 40.
    const rare = steps(0, 90, (n) => [`training_step 40 +${n * 40 + (n > 40 ? 2000 : 0)} gpu`], 10);
    expect(noted(analyzeOne(HEADER, rare))).toMatch(/the average step takes 62.2 ms, recorded steps 40.0/);
    expect(ms(analyzeOne(HEADER, rare).step)).toBe(40);
    const even = steps(0, 90, (n) => [`data_wait 1 +${n * 40} gpu`, `training_step 40 +${n * 40} gpu`], 10);
    expect(noted(analyzeOne(HEADER, even))).not.toMatch(/recorded steps/);
  });

  it('start times are not compared between a run and its resumption', () => {
    const first = steps(0, 4, (n) => [`training_step 10 +${n * 20} gpu`]);
    const resumed = steps(3, 8, (n) => [`training_step 10 +${(n - 3) * 30} gpu`]);
    const facts = analyzeOne(HEADER, first, resumed);
    // 0–1 and 1–2 of the first, 3 to 8 of the second: 2 is followed by a step of another start.
    expect(facts.steps).toBe(7);
    expect(ms(facts.step)).toBeCloseTo((2 * 20 + 5 * 30) / 7, 3);
  });

  it('drop a line that was written twice', () => {
    const lines = steps(0, 4, (n) => [`training_step 20 +${n * 20} gpu`, `training_step 20 +${n * 20} gpu`]);
    expect(analyzeOne(HEADER, lines).phases[0]).toMatchObject({ ns: 20e6, records: 4 });
  });
});

describe('the steps that count', () => {
  it('leave out warm-up, at the beginning only', () => {
    const lines = steps(0, 19, (n) => [`training_step ${n < 2 ? 900 : n === 10 ? 200 : 40}`]);
    const facts = analyzeOne(HEADER, lines);
    expect(facts).toMatchObject({ steps: 18, first: 2 });
    expect(ms(facts.step)).toBeCloseTo(40 + 160 / 18, 3);
    expect(ms(facts.medianStep)).toBe(40);
    expect(noted(facts)).toContain('the first 2 steps took far longer → left out as warm-up');
  });

  it('does not count a step far longer than others as computing', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 9, (n) => [`training_step ${n % 5 === 4 ? 540 : 40}`]),
    );
    expect(msByClass(facts)).toEqual({ compute: 40, idle_other: 100 });
    expect(noted(facts)).toMatch(/2 of 10 steps computed over three times as long as usual/);
  });

  it('include a first step that is a burst like later ones', () => {
    const lines = steps(0, 15, (n) => [`data_wait ${n % 4 ? 0 : 100}`, `training_step ${n % 4 ? 20 : 120}`]);
    const facts = analyzeOne(HEADER, lines);
    expect(facts.steps).toBe(16);
    expect(ms(facts.step)).toBe(45);
    expect(msByClass(facts)).toEqual({ compute: 20, idle_data: 25 });
  });

  it('drops unusable durations', () => {
    const bad = [
      '{"name":"training_step","step":9,"rank":0,"duration_ms":NaN}',
      ...stepLines(10, 'training_step -4'),
    ];
    const facts = analyzeOne(
      steps(0, 4, () => ['training_step 40']),
      bad,
    );
    expect(facts).toMatchObject({ steps: 5, last: 4, step: 40e6 });
    expect(noted(facts)).toContain('2 × records without a usable duration → they were left out');
  });

  it('gives no facts without a usable step', () => {
    expect(analyze('{"name":"training_step","step":9,"rank":0}')).toEqual([]);
    expect(analyze(HEADER)).toEqual([]);
  });
});
