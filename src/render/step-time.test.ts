import { describe, expect, it } from 'vitest';
import { sampleReport, shares } from '../../test/helpers/sample-reports.js';
import { ms } from '../base/units.js';
import type { Report } from '../report/report.js';
import { gain, jobSplit, stepSource, stepSplit } from './step-time.js';

describe('stepSplit', () => {
  it.each([
    [161, { compute: 0.05, idle_data: 0.95 }, '161 ms = input wait 153 · compute 8'],
    [35.6, { compute: 0.996, copy: 0.004 }, '35.6 ms = compute 35.5'],
    [46_336, { comms_wait: 0.6, compute: 0.4 }, '46.3 s = waiting for ranks 27.8 · compute 18.5'],
    [0.2, { idle_sync: 1 }, '200 µs = sync 200'],
    [5, {}, '5.00 ms'],
  ])('%d ms', (step, time, expected) => {
    expect(stepSplit(ms(step), shares(time))).toBe(expected);
  });
});

describe('stepSource', () => {
  const step = {
    ms: 159,
    profiled_ms: 161,
    profiled_time: null,
    source: 'gpu-timeline',
    count: 3,
    first: 3,
    last: 5,
    parts: [],
  } as const;
  it.each([
    [{ ...step, corrected: true }, '161 ms under the profiler, 159 ms without it (estimated) · 3 steps, 3–5'],
    [{ ...step, corrected: false, ms: 161 }, '161 ms under the profiler · 3 steps, 3–5'],
    [
      { ...step, corrected: false, source: 'events' as const },
      '161 ms under the profiler, 159 ms without it (measured) · 3 steps, 3–5',
    ],
    [
      { ...step, corrected: true, ms: 161.2 },
      '161 ms under the profiler, the same without it (estimated) · 3 steps, 3–5',
    ],
    [
      { ...step, corrected: false, source: 'events' as const, ms: 200 },
      '161 ms in the recorded window, 200 ms in the run (measured) · 3 steps, 3–5',
    ],
    [{ ...step, corrected: false, profiled_ms: null, count: 1, last: 3 }, 'step 3'],
    [{ ...step, corrected: false, profiled_ms: null, count: 0, first: null, last: null }, ''],
  ])('%#', (given, expected) => {
    expect(stepSource(sampleReport({ step: given as never }))).toBe(expected);
  });
});

describe('gain', () => {
  it.each([
    [{ low: 8.1, likely: 9.4, high: 11 }, 161, '161 → 15–20 ms  ×8.1–11'],
    [{ low: 1.02, likely: 1.05, high: 1.1 }, 35.6, '35.6 → 32.4–34.9 ms  ×1.02–1.10'],
    [{ low: 100, likely: 150, high: 200 }, 161, '161 → 0.8–1.6 ms  ×100–200'],
    [{ low: 2, likely: 2, high: 2 }, 30_000, '30.0 → 15.0 s  ×2.0'],
    [{ low: 2, likely: 3, high: 4 }, null, '×2.0–4.0'],
    [null, 161, 'gain unknown'],
  ])('%j of %s ms', (speedup, step, expected) => {
    expect(gain(speedup, step === null ? null : ms(step))).toBe(expected);
  });
});

describe('time between training steps', () => {
  const parts = [
    { name: 'checkpoint', ms: ms(60), between: true },
    { name: 'rollout', ms: ms(10), between: false },
  ];

  it('time between training steps has its own name in the step, instead of host', () => {
    const time = shares({ compute: 0.2, idle_host: 0.8 });
    expect(stepSplit(ms(100), time, parts)).toBe(
      '100 ms = checkpoints 60 · compute 20 · host 10 · rollout 10',
    );
  });

  it('time between training steps is not compared with a window of the profiler', () => {
    const { step } = sampleReport();
    const measured = {
      ...step,
      ms: ms(100),
      profiled_ms: ms(45),
      corrected: false,
      source: 'events',
      parts,
    } as const;
    expect(stepSource(sampleReport({ step: measured as never }))).toMatch(
      /^45.0 ms under the profiler, 40.0 ms without it \(measured\)/,
    );
  });

  it('time between training steps has its share of the whole job', () => {
    const phases = [
      { name: 'steps', s: 1380, share: 0.7419, count: 9000, sampled: false },
      { name: 'checkpoint', s: 335, share: 0.18, count: 18, sampled: false },
      { name: 'rollout', s: 145, share: 0.0781, count: 9000, sampled: true },
      { name: 'gc', s: 1, share: 0.0005, count: 3, sampled: false },
    ];
    const job = { wall_s: 1860, phases } as unknown as Report['job'];
    expect(jobSplit(job)).toBe('of 31 min: 74% training steps · 18% checkpoints · 8% rollout');
    expect(jobSplit(null)).toBe('');
  });
});
