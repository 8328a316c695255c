import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Edit, unifiedDiff, withEdits } from './unified-diff.js';

/** What `patch` does, with exact positions: every context line and every line to remove must be there. */
function applied(text: string, diff: string): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const out: string[] = [];
  let at = 0;
  let left = { old: 0, fresh: 0 };
  for (const line of diff.match(/[^\n]*\n/g) ?? []) {
    const head = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(line.trimEnd());
    if (head) {
      expect(left).toEqual({ old: 0, fresh: 0 });
      const [first, old, to, fresh] = head.slice(1).map(Number) as [number, number, number, number];
      const start = old === 0 ? first : first - 1;
      for (; at < start; at++) out.push(lines[at]!);
      expect(fresh === 0 ? to : to - 1).toBe(out.length);
      left = { old, fresh };
    } else if (line.startsWith('\\')) {
      const last = out.pop() ?? '';
      out.push(last.replace(/\n$/, ''));
    } else if (/^[ -]/.test(line) && left.old > 0) {
      expect((lines[at] ?? '').replace(/\n$/, '')).toBe(line.slice(1, -1));
      if (line.startsWith(' ')) {
        out.push(line.slice(1));
        left.fresh--;
      }
      left.old--;
      at++;
    } else if (line.startsWith('+') && left.fresh > 0) {
      out.push(line.slice(1));
      left.fresh--;
    }
  }
  return [...out, ...lines.slice(at)].join('');
}

describe('a unified diff', () => {
  it('shows three lines around a changed line', () => {
    const text = '1\n2\n3\n4\n5\n6\n7\n8\n9\n';
    const at = text.indexOf('5');
    expect(unifiedDiff('a b.py', text, [{ from: at, to: at + 1, text: 'five' }])).toBe(
      '--- a/a b.py\t\n+++ b/a b.py\t\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n',
    );
  });

  it('is empty if nothing changes', () => {
    expect(unifiedDiff('x', 'a\n', [])).toBe('');
    expect(unifiedDiff('x', 'a\n', [{ from: 0, to: 1, text: 'a' }])).toBe('');
  });

  it('applied to the old text gives the new text', () => {
    const word = fc.constantFrom('a', 'b', ' ', '\n', '\n', '\r\n', 'x = 1', '+', '-', '@@ -1 +1 @@');
    const line = fc.array(word, { maxLength: 60 }).map((words) => words.join(''));
    const positions = fc.array(fc.tuple(fc.nat(200), fc.nat(9), fc.array(word, { maxLength: 4 })), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(line, positions, (text, wanted) => {
        const edits: Edit[] = [];
        for (const [from, length, words] of wanted.toSorted((a, b) => a[0] - b[0])) {
          const start = Math.max(from % (text.length + 1), (edits.at(-1)?.to ?? -1) + 1);
          if (start > text.length) break;
          edits.push({ from: start, to: Math.min(text.length, start + length), text: words.join('') });
        }
        // The applier above counts a file's last line only where it has an end.
        const ended = text.endsWith('\n') || text === '' ? text : `${text}\n`;
        expect(applied(ended, unifiedDiff('x.py', ended, edits))).toBe(withEdits(ended, edits));
      }),
    );
  });
});
