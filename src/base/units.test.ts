import { describe, expect, it } from 'vitest';
import {
  bytes,
  formatBytes,
  formatCount,
  formatDuration,
  formatInScale,
  formatMs,
  formatNumber,
  formatPercent,
  formatTime,
  formatWhole,
  formatWholePercent,
  fromMs,
  ms,
  ns,
  seconds,
  share,
  timeScale,
  toMs,
  toSeconds,
  toUs,
} from './units.js';

describe('conversions', () => {
  it.each([
    ['toUs', toUs(ns(1500)), 1.5],
    ['toUs rounds to a nanosecond', toUs(ns(1499.6)), 1.5],
    ['toMs', toMs(ns(2_500_000)), 2.5],
    ['toMs rounds to a microsecond', toMs(ns(1_234_567)), 1.235],
    ['toSeconds', toSeconds(ns(250_000_000)), 0.25],
    ['fromMs', fromMs(ms(0.5)), 500_000],
  ])('%s', (_, got, expected) => {
    expect(got).toBe(expected);
  });
});

describe('formats', () => {
  it.each([
    ['formatMs', formatMs(ns(161_234_000)), '161 ms'],
    ['formatMs', formatMs(ns(16_123_400)), '16.1 ms'],
    ['formatMs', formatMs(ns(1_612_340)), '1.61 ms'],
    ['formatTime', formatTime(ms(0.0123)), '12.3 µs'],
    ['formatTime', formatTime(ms(1)), '1.00 ms'],
    ['formatTime', formatTime(ms(161.2)), '161 ms'],
    ['formatTime', formatTime(ms(9999)), '9999 ms'],
    ['formatTime', formatTime(ms(46_336)), '46.3 s'],
    ['formatTime', formatTime(ms(Number.NaN)), '?'],
    ['formatDuration', formatDuration(seconds(0.042)), '42 ms'],
    ['formatDuration', formatDuration(seconds(18.66)), '18.7 s'],
    ['formatDuration', formatDuration(seconds(3600)), '60 min'],
    ['formatDuration', formatDuration(seconds(179.7)), '3 min'],
    ['formatDuration', formatDuration(seconds(320)), '5 min 20 s'],
    ['formatPercent', formatPercent(share(0.042)), '4.2%'],
    ['formatPercent', formatPercent(share(0.42)), '42%'],
    ['formatPercent', formatPercent(share(0)), '0.0%'],
    ['formatWholePercent', formatWholePercent(share(0.0449)), '4%'],
    ['formatWholePercent', formatWholePercent(share(1)), '100%'],
    ['formatCount', formatCount(1, 'step'), '1 step'],
    ['formatCount', formatCount(0, 'step'), '0 steps'],
    ['formatCount', formatCount(2, 'batch of rows', 'batches of rows'), '2 batches of rows'],
    ['formatWhole', formatWhole(1049.6), '1,050'],
    ['formatWhole', formatWhole(12), '12'],
    ['formatNumber', formatNumber(9999), '9999'],
    ['formatNumber', formatNumber(84_947), '84.9 k'],
    ['formatNumber', formatNumber(36_800_000), '36.8 M'],
    ['formatNumber', formatNumber(2_000_000_000), '2.00 G'],
    ['formatBytes', formatBytes(bytes(999)), '999 B'],
    ['formatBytes', formatBytes(bytes(1500)), '1.50 kB'],
    ['formatBytes', formatBytes(bytes(1_520_000)), '1.52 MB'],
    ['formatBytes', formatBytes(bytes(10_021_769_572)), '10.0 GB'],
  ])('%s %#', (_, got, expected) => {
    expect(got).toBe(expected);
  });

  it('puts commas where the locale en-US has them', () => {
    for (const n of [0, 7, 999, 1000, 123_456, 1_234_567, 1e15, 2 ** 60, -5, -1234, -123_456, NaN, Infinity])
      expect(formatWhole(n)).toBe(n.toLocaleString('en-US'));
  });

  it('gives parts in the unit and precision of the whole', () => {
    const scale = timeScale(ms(12_345));
    expect(scale).toEqual({ unit: 's', perMs: 1e-3, decimals: 1 });
    expect(formatInScale(ms(617.3), scale)).toBe('0.6');
    expect(timeScale(ms(0.5))).toEqual({ unit: 'µs', perMs: 1e3, decimals: 0 });
    expect(timeScale(ms(161))).toEqual({ unit: 'ms', perMs: 1, decimals: 0 });
  });
});
