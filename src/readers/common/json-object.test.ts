import { expect, it } from 'vitest';
import { parseEvent } from './json-object.js';

it('keeps long integers as text, and fractions with as many digits as numbers', () => {
  const text =
    '{"a": 12345678901234567890, "b": 0.01234567890123456789, "c": [1], "d": NaN, "e": "-99999999999999999"}';
  expect(parseEvent(Buffer.from(text))).toEqual({
    a: '12345678901234567890',
    b: 0.012345678901234568,
    c: [1],
    d: null,
    e: '-99999999999999999',
  });
});
