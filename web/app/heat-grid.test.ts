import { describe, expect, it } from 'vitest';
import type { RankSteps, StepMetric } from '../../src/page/page-data.js';
import { encodeTimes } from '../../src/page/page-data.js';
import { colorsFor, groupings, paint, type Rgb, rowsBy } from './heat-grid.js';

const RAMP: readonly Rgb[] = [
  [0, 0, 0],
  [255, 255, 255],
];
const red = (word: number) => word & 0xff;
const metricOf = (times: readonly number[]): StepMetric => ({
  name: 'own',
  ...encodeTimes(Float64Array.from(times), true),
});
const steps = (hosts: (string | null)[], coordinates: RankSteps['coordinates']): RankSteps => ({
  ranks: hosts.map((_, r) => r),
  hosts,
  coordinates,
  steps: [1],
  stepsPerColumn: 1,
  profiled: false,
  dividedByLogs: false,
  metrics: [],
});

describe('the heat map', () => {
  it('keeps a single late rank of thousands visible in a few pixels', () => {
    const [ranks, columns] = [4096, 50];
    const times = Array.from({ length: ranks * columns }, (_, i) =>
      Math.floor(i / columns) === 2222 ? 66e6 : 45e6 + (i % 7) * 1e4,
    );
    const metric = metricOf(times);
    const colors = colorsFor(metric, ranks, RAMP, [1, 2, 3]);
    const rows = { order: Array.from({ length: ranks }, (_, r) => r), groups: [] };
    const pixels = paint(metric, rows, columns, 20, 100, colors);
    const bright = [...pixels.keys()].filter((i) => red(pixels[i]!) > 240);
    expect(new Set(bright.map((i) => Math.floor(i / 20)))).toEqual(
      new Set([Math.floor((2222 * 100) / ranks)]),
    );
    expect(bright.length).toBe(20);
  });

  it('shows noise as noise, and does not let one slow cell hide the rest', () => {
    const noise = colorsFor(metricOf([100e6, 101e6, 102e6, 100e6]), 2, RAMP, [0, 0, 0]);
    expect(noise.high - noise.low).toBeGreaterThan(19e6);
    const usual = Array.from({ length: 9999 }, (_, i) => 100e6 + (i % 2) * 50e6);
    const spiked = colorsFor(metricOf([...usual, 100e9]), 100, RAMP, [0, 0, 0]);
    expect(spiked.high).toBeLessThan(2e9);
  });

  it('shows what was not recorded in a color of its own', () => {
    const metric = metricOf([1e6, Number.NaN]);
    const { words } = colorsFor(metric, 2, RAMP, [9, 9, 9]);
    expect(red(words[metric.codes[1]!]!)).toBe(9);
  });

  it('groups ranks by host and by mesh axis, in their order', () => {
    const mesh = steps(
      ['b', 'a', 'b', 'a'],
      [
        { dp: 0, tp: 0 },
        { dp: 0, tp: 1 },
        { dp: 1, tp: 0 },
        { dp: 1, tp: 1 },
      ],
    );
    expect(groupings(mesh)).toEqual(['host', 'dp', 'tp']);
    expect(rowsBy(mesh, 'host')).toEqual({
      order: [1, 3, 0, 2],
      groups: [
        { name: 'a', from: 0, to: 2 },
        { name: 'b', from: 2, to: 4 },
      ],
    });
    expect(rowsBy(mesh, 'tp').order).toEqual([0, 2, 1, 3]);
    expect(groupings(steps([null, null], [null, null]))).toEqual([]);
  });
});
