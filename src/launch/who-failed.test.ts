import { expect, it } from 'vitest';
import { lineOf } from './who-failed.js';

const reset = 'Read error [127.0.0.1]:24229: Connection reset by peer. This is typically caused by …';
const rank = (number: number, message: string | null, hasEnded = message !== null) => ({
  rank: number,
  hasEnded,
  error: message === null ? null : { type: 'RuntimeError', message },
});

it('a rank that was killed is named, and those that lost it are not', () => {
  expect(lineOf([rank(0, reset), rank(1, null), rank(2, reset)])).toBe(
    'rank 1 ended without an error of Python, as if killed by a signal; ranks 0, 2 then lost the connection to it',
  );
});

it('a rank with an error of its own failed first', () => {
  expect(lineOf([rank(0, reset), rank(1, 'CUDA out of memory.\nTried …'), rank(2, null)])).toBe(
    'rank 1 failed with RuntimeError: CUDA out of memory.; rank 0 then lost the connection to it',
  );
  expect(lineOf([rank(0, 'boom')])).toBe('the job failed with RuntimeError: boom');
});

it('of several that were ended by signals none is accused', () => {
  expect(lineOf([rank(0, reset), rank(1, null), rank(2, null)])).toMatch(
    /^rank 0 lost the connection .* ranks 1–2 were ended by signals/,
  );
});

it('without evidence there is no line', () => {
  expect(lineOf([])).toBeNull();
  expect(lineOf([rank(0, null, true), rank(1, null, true)])).toBeNull();
  expect(lineOf([rank(0, null), rank(1, null)])).toBeNull();
});
