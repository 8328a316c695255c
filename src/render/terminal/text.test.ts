import { describe, expect, it } from 'vitest';
import { formatRanks, namedRanks } from '../../base/rank-ranges.js';
import { displayWidth, lastOf, shorten, wrap } from './text.js';

describe('ranks', () => {
  it.each([
    [formatRanks([3, 0, 1, 2, 7, 9, 8]), '0–3, 7–9'],
    [formatRanks([]), ''],
    [namedRanks([5]), 'rank 5'],
    [namedRanks([0, 1, 4]), 'ranks 0–1, 4'],
  ])('ranks in words: %s', (got, expected) => {
    expect(got).toBe(expected);
  });
});

describe('text', () => {
  it('cuts in the middle', () => {
    expect(shorten('abcdefghij', 5)).toBe('ab…ij');
    expect(shorten('abc', 5)).toBe('abc');
    expect(shorten('漢字漢字', 5)).toBe('漢…字');
    expect(lastOf('abcdefghij', 5)).toBe('…ghij');
    expect(lastOf('漢字漢字', 5)).toBe('…漢字');
    expect(lastOf('abc', 5)).toBe('abc');
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
