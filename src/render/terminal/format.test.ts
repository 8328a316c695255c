import { describe, expect, it } from 'vitest';
import { formatRanks, namedRanks } from '../../base/rank-ranges.js';
import { formatBytes, formatCount, formatMs, formatSeconds, printable, shorten, wrap } from './format.js';
import { displayWidth } from './width.js';

describe('figures', () => {
  it.each([
    [formatCount(9999), '9999'],
    [formatCount(84_947), '84.9 k'],
    [formatCount(36_800_000), '36.8 M'],
    [formatBytes(999), '999 B'],
    [formatBytes(1_520_000), '1.52 MB'],
    [formatBytes(10_021_769_572), '10.0 GB'],
    [formatMs(0.0123), '12.3 µs'],
    [formatMs(161.2), '161 ms'],
    [formatMs(46_336), '46.3 s'],
    [formatSeconds(0.042), '42 ms'],
    [formatSeconds(18.66), '18.7 s'],
    [formatSeconds(3600), '60 min 0 s'],
    [formatRanks([3, 0, 1, 2, 7, 9, 8]), '0–3, 7–9'],
    [formatRanks([]), ''],
    [namedRanks([5]), 'rank 5'],
    [namedRanks([0, 1, 4]), 'ranks 0–1, 4'],
  ])('%s', (got, expected) => {
    expect(got).toBe(expected);
  });
});

describe('text', () => {
  it('makes control characters visible', () => {
    expect(printable('a\x1b[2Jb\u202ec\n漢')).toBe('a\\x1b[2Jb\\u202ec\\x0a漢');
  });

  it('cuts in the middle', () => {
    expect(shorten('abcdefghij', 5)).toBe('ab…ij');
    expect(shorten('abc', 5)).toBe('abc');
    expect(shorten('漢字漢字', 5)).toBe('漢…字');
  });

  it('wraps at words, keeps the lead and indents the rest', () => {
    expect(wrap('  one two three four', 10, '    ')).toBe('  one two\n    three\n    four');
  });

  it('cuts words that are longer than a line, and counts columns, not characters', () => {
    expect(wrap('see abcdefghij end', 6, ' ')).toBe('see\n abcde\n fghij\n end');
    expect(wrap('漢字漢字', 5, '')).toBe('漢字\n漢字');
    expect(wrap('漢', 1, '')).toBe('漢');
  });

  it.each([
    ['abc', 3],
    ['×8–11 · µs', 10],
    ['漢字', 4],
    ['🚀', 2],
    ['e\u0301', 1],
  ])('%s takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});
