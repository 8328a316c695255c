import { describe, expect, it } from 'vitest';
import { shares } from '../../../test/helpers/sample-reports.js';
import { ms } from '../../base/units.js';
import type { ReportStep } from '../../report/report.js';
import { gain, stepSource, stepSplit } from './step-time.js';

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
  const step = { ms: 159, profiled_ms: 161, source: 'gpu-timeline', count: 3, first: 3, last: 5 } as const;
  it.each([
    [{ ...step, corrected: true }, '161 ms under the profiler, 159 ms without it (estimated) · 3 steps, 3–5'],
    [{ ...step, corrected: false, ms: 161 }, '161 ms under the profiler · 3 steps, 3–5'],
    [
      { ...step, corrected: false, source: 'events' as const },
      '161 ms under the profiler, 159 ms without it (measured) · 3 steps, 3–5',
    ],
    [{ ...step, corrected: false, profiled_ms: null, count: 1, last: 3 }, 'step 3'],
    [{ ...step, corrected: false, profiled_ms: null, count: 0, first: null, last: null }, ''],
  ])('%#', (given, expected) => {
    expect(stepSource(given as ReportStep)).toBe(expected);
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
