import { describe, expect, it } from 'vitest';
import { columnsOf } from './terminal.js';

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
