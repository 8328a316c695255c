import { describe, expect, it } from 'vitest';
import { ProgressLine } from './progress.js';

function terminal(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 80, overwrite: (text: string) => written.push(text), written };
}

describe('ProgressLine', () => {
  it('shows rate and time left after half a second', () => {
    const out = terminal(true);
    let now = 0;
    const line = new ProgressLine(
      out,
      () => {},
      () => now,
    );
    line.start(8, 1e9);
    now = 100;
    line.update(1e8, 0);
    expect(out.written).toEqual([]);
    now = 1000;
    line.update(2.5e8, 1);
    expect(out.written.join('')).toContain('reading: 1/8 files, 250 MB of 1.00 GB, 250 MB/s, 3.00 s left');
    line.end();
    expect(out.written.at(-1)).toBe('');
  });

  it('writes nothing when the output is not a terminal', () => {
    const out = terminal(false);
    let now = 0;
    const line = new ProgressLine(
      out,
      () => {},
      () => now,
    );
    line.start(1, 100);
    now = 5000;
    line.update(50, 0);
    line.end();
    expect(out.written).toEqual([]);
  });

  it('shows no time left when the size is unknown', () => {
    const out = terminal(true);
    let now = 0;
    const line = new ProgressLine(
      out,
      () => {},
      () => now,
    );
    line.start(1, 0);
    now = 2000;
    line.update(4e6, 0);
    expect(out.written.join('')).toMatch(/reading: 4\.00 MB, 2\.00 MB\/s$/);
  });
});
