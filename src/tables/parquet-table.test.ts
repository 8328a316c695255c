import { describe, expect, it } from 'vitest';
import { type Cell, columnBuffer } from './parquet-table.js';
import type { ColumnType } from './schema.js';

const through = (type: ColumnType, cells: readonly Cell[]) => {
  const buffer = columnBuffer(type, 8);
  cells.forEach((cell, row) => {
    buffer.set(row, cell);
  });
  return [...buffer.values(cells.length)] as unknown[];
};

describe('values that wait to be written', () => {
  it.each<[ColumnType, Cell[]]>([
    ['DOUBLE', [1.5, -0.25, null]],
    ['DOUBLE', [1.5, 2]],
    ['INT32', [7, null, -1]],
    ['INT64', [1_794_704_799_155_734_177n, null, -5n]],
    ['INT64', [2n ** 63n - 1n]],
    ['STRING', ['a', null, '']],
    ['BOOLEAN', [true, null, false]],
  ])('of type %s come back as they were', (type, cells) => {
    expect(through(type, cells)).toEqual(cells);
  });

  it('are null where they are not finite', () => {
    expect(through('DOUBLE', [Number.NaN, 1, Number.POSITIVE_INFINITY])).toEqual([null, 1, null]);
  });

  it('are only those of the group, when a buffer is filled again', () => {
    const buffer = columnBuffer('DOUBLE', 8);
    for (let row = 0; row < 8; row++) buffer.set(row, row);
    buffer.set(0, null);
    expect([...buffer.values(2)]).toEqual([null, 1]);
  });
});
