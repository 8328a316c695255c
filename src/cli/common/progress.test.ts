import { describe, expect, it } from 'vitest';
import { ProgressLine, StatusLine } from './progress.js';

/** A progress line whose clock is set by hand, and what it wrote. */
function lineOn(isTTY: boolean) {
  const written: string[] = [];
  const out = { isTTY, columns: 80, overwrite: (text: string) => written.push(text) };
  const clock = { now: 0 };
  const line = new ProgressLine(
    out,
    () => {},
    () => clock.now,
  );
  return { line, clock, written };
}

describe('ProgressLine', () => {
  it('shows rate and time left after half a second', () => {
    const { line, clock, written } = lineOn(true);
    line.start(8, 1e9);
    clock.now = 100;
    line.update(1e8, 0);
    expect(written).toEqual([]);
    clock.now = 1000;
    line.update(2.5e8, 1);
    expect(written.join('')).toContain('reading: 1/8 files, 250 MB of 1.00 GB, 250 MB/s, 3.00 s left');
    line.end();
    expect(written.at(-1)).toBe('');
  });

  it('writes nothing when the output is not a terminal', () => {
    const { line, clock, written } = lineOn(false);
    line.start(1, 100);
    clock.now = 5000;
    line.update(50, 0);
    line.end();
    expect(written).toEqual([]);
  });

  it('shows no time left when the size is unknown', () => {
    const { line, clock, written } = lineOn(true);
    line.start(1, 0);
    clock.now = 2000;
    line.update(4e6, 0);
    expect(written.join('')).toMatch(/reading: 4\.00 MB, 2\.00 MB\/s$/);
  });
});

function statusOn(isTTY: boolean) {
  const written: string[] = [];
  return {
    written,
    line: new StatusLine({ isTTY, columns: 12, overwrite: (text: string) => written.push(text) }),
  };
}

it('shows one line that fits, writes it only when it changed, and clears it', () => {
  const { written, line } = statusOn(true);
  line.show('waiting for ten');
  line.show('waiting for two');
  line.show('done');
  line.end();
  line.end();
  expect(written).toEqual(['waiting for', 'done', '']);
});

it('writes nothing when the output is not a terminal', () => {
  const { written, line } = statusOn(false);
  line.show('waiting');
  line.end();
  expect(written).toEqual([]);
});
