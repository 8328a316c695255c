import { expect, it } from 'vitest';
import { printable, printableJson } from './printable.js';

it('makes control characters, direction marks and line breaks visible', () => {
  expect(printable('a\x1b[2Jb\u202ec\n漢\u009b\u2028')).toBe('a\\x1b[2Jb\\u202ec\\x0a漢\\x9b\\u2028');
});

it('escapes JSON without changing its values', () => {
  const value = { 'na\u202eme': ['\x1b]0;x\x07', '\u009b31m', '\u2028', '\x7f', 'a\nb', '漢'] };
  const json = printableJson(JSON.stringify(value, null, 2));
  expect(JSON.parse(json)).toEqual(value);
  expect(json).toMatch(/^[\n\x20-\x7e漢]*$/);
});
