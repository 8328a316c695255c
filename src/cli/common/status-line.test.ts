import { expect, it } from 'vitest';
import { StatusLine } from './status-line.js';

function lineOn(isTTY: boolean) {
  const written: string[] = [];
  return {
    written,
    line: new StatusLine({ isTTY, columns: 12, overwrite: (text: string) => written.push(text) }),
  };
}

it('shows one line that fits, writes it only when it changed, and clears it', () => {
  const { written, line } = lineOn(true);
  line.show('waiting for ten');
  line.show('waiting for two');
  line.show('done');
  line.end();
  line.end();
  expect(written).toEqual(['waiting for', 'done', '']);
});

it('writes nothing when the output is not a terminal', () => {
  const { written, line } = lineOn(false);
  line.show('waiting');
  line.end();
  expect(written).toEqual([]);
});
