import { describe, expect, it } from 'vitest';
import { briefText, codeOf, firstOf, MOST_LINES } from './lines.js';

describe('a brief answer', () => {
  it('a brief answer has at most 60 lines, and counts what it leaves out', () => {
    const text = briefText(Array.from({ length: 200 }, (_, i) => `line ${i}`));
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(MOST_LINES);
    expect(lines.at(-1)).toBe('… 141 more lines (--format json has all)');
  });

  it('a brief answer shows names that act on a terminal, and cuts long ones', () => {
    expect(briefText(['a\x1b[2J\nb'])).toBe('a\\x1b[2J\\x0ab\n');
    expect(briefText(['x'.repeat(5000)]).length).toBe(401);
  });

  it('a brief answer lists the first few, and the lines of a fix below its title', () => {
    expect(firstOf([1, 2, 3], 2, String)).toEqual(['1', '2', '… and 1 more']);
    expect(codeOf('a\n\nb\nc', 2)).toEqual(['   | a', '   | b', '… and 1 more']);
    expect(codeOf(null, 2)).toEqual([]);
  });
});
