import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import type { OperationTable } from '../../model/operation-table.js';
import { operationsReader } from './descriptor.js';
import { OperationsStreamReader } from './operations-stream-reader.js';
import { readRuns } from './runs.js';
import { type DrawnColumn, type DrawnFile, drawParquet, packed, read, varint } from './testing.js';

const KINDS = ['forward-compute', 'backward-compute', 'optimizer'];
const rows = Array.from({ length: 30 }, (_, i) => i);

const COLUMNS: readonly DrawnColumn[] = [
  { name: 'dp_rank', type: 'INT32', values: rows.map((i) => i % 2), dictionary: true },
  { name: 'stage', type: 'INT32', values: rows.map((i) => (i >> 1) % 2) },
  { name: 'rank', type: 'INT64', values: rows.map((i) => i % 4) },
  { name: 'step', type: 'INT64', values: rows.map((i) => 7 + Math.floor(i / 12)), dictionary: true },
  { name: 'optype', type: 'TEXT', values: rows.map((i) => KINDS[i % 3]!), dictionary: true },
  { name: 'start_ts', type: 'DOUBLE', values: rows.map((i) => i / 4), optional: false },
  { name: 'duration', type: 'FLOAT', values: rows.map((i) => i / 8) },
  { name: 'seq_id', type: 'INT32', values: rows.map((i) => i % 5) },
  { name: 'mc', type: 'DOUBLE', values: rows.map((i) => (i % 4 === 0 ? null : 1)) },
  { name: 'comment', type: 'TEXT', values: rows.map((i) => `row ${i}`) },
];
const file = (more: Partial<DrawnFile> = {}) => drawParquet({ columns: COLUMNS, ...more });
const replaced = (...changed: DrawnColumn[]) =>
  COLUMNS.map((column) => changed.find((c) => c.name === column.name) ?? column);
const codes = (bytes: Uint8Array) => read(bytes).problems.map((p) => [p.code, p.count]);

function expectSound(table: OperationTable): void {
  const { rows: count, kinds, ...columns } = table;
  for (const column of Object.values(columns)) expect(column.length).toBe(count);
  expect(table.kind.every((k) => k < kinds.length)).toBe(true);
  expect(table.step.every(Number.isInteger)).toBe(true);
  expect(table.stage.every((s) => s >= 0) && table.dpRank.every((r) => r >= 0)).toBe(true);
}

describe('tables of operations', () => {
  it('are read into columns, with missing values marked', () => {
    const { table, problems } = read(file());
    expect(problems).toEqual([]);
    expect(table.rows).toBe(30);
    expect(table.kinds).toEqual(KINDS);
    expect([...table.kind.subarray(0, 4)]).toEqual([0, 1, 2, 0]);
    expect([...table.dpRank.subarray(0, 5)]).toEqual([0, 1, 0, 1, 0]);
    expect([...table.stage.subarray(0, 5)]).toEqual([0, 0, 1, 1, 0]);
    expect([...table.rank.subarray(0, 5)]).toEqual([0, 1, 2, 3, 0]);
    expect([table.step[0], table.step[29]]).toEqual([7, 9]);
    expect([table.start[29], table.duration[29]]).toEqual([7.25, 3.625]);
    expect([...table.chunk.subarray(0, 5)]).toEqual([-1, 1, 1, 1, -1]);
    expect(table.globalChunk.every((c) => c === -1)).toBe(true);
    for (const column of Object.values(table))
      if (ArrayBuffer.isView(column)) expect(column.byteLength).toBe(column.buffer.byteLength);
  });

  const ways: [string, Partial<DrawnFile>][] = [
    ['in several row groups', { groupSize: 7 }],
    ['compressed with Snappy', { codec: 1 }],
    ['compressed with Zstandard', { codec: 6 }],
    ['compressed with gzip', { codec: 2 }],
    ['compressed with brotli', { codec: 4 }],
    ['in pages of the second version', { v2: true }],
    ['in pages of the second version, compressed', { v2: true, codec: 2, groupSize: 11 }],
  ];
  it.each(ways)('%s are the same', (_, more) => {
    expect(read(file(more))).toEqual(read(file()));
  });

  it('may lack optional columns', () => {
    const { table, problems } = read(drawParquet({ columns: COLUMNS.slice(3, 7) }));
    expect(problems).toEqual([]);
    expect(table.rows).toBe(30);
    for (const column of [table.dpRank, table.stage]) expect(column.every((v) => v === 0)).toBe(true);
    for (const column of [table.rank, table.sequence, table.chunk])
      expect(column.every((v) => v === -1)).toBe(true);
  });

  it('take timestamps in their unit', () => {
    const micros: DrawnColumn = { name: 'start_ts', type: 'INT64', values: rows.map((i) => i * 250_000) };
    const { table, problems } = read(drawParquet({ columns: replaced({ ...micros, converted: 10 }) }));
    expect(problems).toEqual([]);
    expect(table.start[29]).toBeCloseTo(7.25, 9);
  });
});

describe('faults of tables', () => {
  it('count rows without step, kind or worker and leave them out', () => {
    const columns = replaced(
      { name: 'step', type: 'DOUBLE', values: rows.map((i) => (i < 2 ? null : i === 2 ? 1.5 : 3)) },
      { name: 'optype', type: 'TEXT', values: rows.map((i) => (i === 5 ? null : 'optimizer')) },
      { name: 'stage', type: 'INT64', values: rows.map((i) => (i === 9 ? 2 ** 40 : 0)) },
    );
    const { table, problems } = read(drawParquet({ columns }));
    expect(table.rows).toBe(25);
    expect(problems.map((p) => [p.code, p.count, p.first])).toEqual([
      ['missing-value', 5, { unit: 'row', at: 0 }],
    ]);
  });

  it('keep rows with odd times and say so', () => {
    const duration: DrawnColumn = {
      name: 'duration',
      type: 'DOUBLE',
      values: rows.map((i) => (i === 3 ? null : i === 4 ? Number.POSITIVE_INFINITY : i === 5 ? -1 : 1)),
    };
    const bytes = drawParquet({ columns: replaced(duration) });
    expect(codes(bytes)).toEqual([
      ['missing-time', 2],
      ['negative-duration', 1],
    ]);
    expect(read(bytes).table.duration[3]).toBeNaN();
  });

  it('warn that integer times have no unit', () => {
    const columns = replaced({ name: 'duration', type: 'INT64', values: rows });
    expect(codes(drawParquet({ columns }))).toEqual([['whole-times', 1]]);
  });

  it('are not read when they are not operation tables', () => {
    const columns = COLUMNS.filter((c) => c.name !== 'optype');
    expect(codes(drawParquet({ columns }))).toEqual([['missing-columns', 1]]);
    const wrong = replaced({ name: 'step', type: 'TEXT', values: rows.map(String) });
    expect(codes(drawParquet({ columns: wrong }))).toEqual([
      ['wrong-column-type', 1],
      ['missing-columns', 1],
    ]);
  });

  it('leave out columns with an unknown compression', () => {
    expect(codes(file({ codec: 7 }))).toEqual([['unsupported-column', 9]]);
  });

  it('are not held beyond a limit', () => {
    const reader = new OperationsStreamReader(100);
    for (const chunk of [file().subarray(0, 60), file().subarray(60)]) reader.push(chunk);
    expect(reader.finish()).toMatchObject({ table: { rows: 0 }, problems: [{ code: 'too-large' }] });
  });

  it('do not grow with the lengths that damaged runs claim', () => {
    // A run of 2^30 in three dozen bytes: it fills the existing rows, or is not a run at all.
    const runs = (bits: number, values: readonly number[]) =>
      values.every((v) => v === values[0])
        ? Buffer.concat([varint(2 ** 31), Buffer.from([values[0] ?? 0])])
        : packed(bits, values);
    const { table } = read(file({ runs }));
    expect(table.rows).toBe(30);
    expect(() => readRuns(varint(2 ** 34), 0, 1, new Int32Array(8))).toThrow('runs end early');
    expect(() => readRuns(Buffer.from([3]), 0, 1, new Int32Array(8))).toThrow('runs end early');
  });
});

describe('any bytes', () => {
  const whole = file({ groupSize: 11 });

  it('are claimed only with the magic of Parquet', () => {
    expect(operationsReader.sniff(whole)).toBe(true);
    expect(operationsReader.sniff(Buffer.from('{"traceEvents": []}'))).toBe(false);
    expect(operationsReader.sniff(Buffer.from('PA'))).toBe(false);
  });

  it('read the same in any chunks', () => {
    const cuts = fc.array(fc.nat({ max: whole.length }), { maxLength: 20 });
    fc.assert(
      fc.property(cuts, (at) => {
        expect(read(whole, at)).toEqual(read(whole));
      }),
    );
  });

  it('cut anywhere say so', () => {
    for (let length = 4; length < whole.length; length++) {
      const { table, problems } = read(whole.subarray(0, length));
      expect(table.rows).toBe(0);
      expect(problems.map((p) => p.code)).toEqual(['no-footer']);
    }
  });

  it('damaged anywhere give a sound table', () => {
    const damage = fc.array(fc.tuple(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 })), {
      minLength: 1,
      maxLength: 6,
    });
    const files = [whole, file({ codec: 1 }), file({ codec: 6 }), file({ v2: true })];
    fc.assert(
      fc.property(fc.constantFrom(...files), damage, (original, bytes) => {
        const damaged = Buffer.from(original);
        for (const [at, value] of bytes) damaged[at % damaged.length] = value;
        expectSound(read(damaged).table);
      }),
      { numRuns: cases(1000, 3000) },
    );
  });
});
