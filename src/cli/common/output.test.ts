import { describe, expect, it } from 'vitest';
import { asAscii, columnsOf, showsUnicode } from './output.js';

describe('a terminal that is not UTF-8', () => {
  it.each([
    [{}, true],
    [{ LANG: 'C.UTF-8' }, true],
    [{ LANG: 'en_US.utf8' }, true],
    [{ LANG: '', LC_ALL: '' }, true],
    [{ LANG: 'C' }, false],
    [{ LANG: 'POSIX' }, false],
    [{ LANG: 'de_DE@euro' }, false],
    [{ LANG: 'C.UTF-8', LC_ALL: 'C' }, false],
    [{ LANG: 'C', LC_CTYPE: 'en_US.UTF-8' }, true],
  ])('is known by its locale: %j', (env, unicode) => expect(showsUnicode(env)).toBe(unicode));

  it('gets our texts in ASCII, and names as they are', () => {
    expect(asAscii('35.6 → 32.4–34.9 ms  ×1.02 · it’s 5 µs… ▁▄█')).toBe(
      "35.6 -> 32.4-34.9 ms  x1.02 | it's 5 us... 148",
    );
    expect(asAscii('out dir é/模型')).toBe('out dir é/模型');
  });
});

const terminal = (columns: number) => ({ isTTY: true, columns });
const pipe = { isTTY: false, columns: undefined as never };

describe('the width of the output', () => {
  it.each([
    ['of a terminal', terminal(120), {}, 120],
    ['of a terminal, whatever COLUMNS says', terminal(120), { COLUMNS: '60' }, 120],
    ['of a terminal without a size', terminal(0), {}, undefined],
    ['of a terminal without a size, from COLUMNS', terminal(0), { COLUMNS: '60' }, 60],
    ['of a pipe', pipe, {}, undefined],
    ['of a pipe, from COLUMNS', pipe, { COLUMNS: '60' }, 60],
    ['of a pipe, with nonsense in COLUMNS', pipe, { COLUMNS: 'wide' }, undefined],
  ])('%s', (_, target, env, columns) => {
    expect(columnsOf(target, env)).toBe(columns);
  });
});
