import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { ReadResult } from '../common/reader.js';
import { operationsReader } from './descriptor.js';

/** A column to write. Texts are BYTE_ARRAY. */
export interface DrawnColumn {
  readonly name: string;
  readonly type: 'INT32' | 'INT64' | 'FLOAT' | 'DOUBLE' | 'TEXT';
  readonly values: readonly (number | string | null)[];
  /** May hold nulls; true by default. */
  readonly optional?: boolean;
  readonly dictionary?: boolean;
  /** ConvertedType by number: 9 and 10 are timestamps in ms and µs. */
  readonly converted?: number;
}

export interface DrawnFile {
  readonly columns: readonly DrawnColumn[];
  /** Rows per row group; all in one by default. */
  readonly groupSize?: number;
  /** 0 none, 1 Snappy, 2 gzip, 4 brotli, 6 Zstandard, 7 LZ4 (only claimed). */
  readonly codec?: number;
  readonly v2?: boolean;
  /** In place of the packed bits of levels and indices. */
  readonly runs?: (bits: number, values: readonly number[]) => Buffer;
}

const TYPES = { INT32: 1, INT64: 2, FLOAT: 4, DOUBLE: 5, TEXT: 6 } as const;

/** The part of Thrift's compact protocol that a footer needs: [field, type, bytes]. */
type Field = readonly [id: number, type: number, bytes: Buffer];
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
const int = (value: number) => varint(value * 2);
const i32 = (id: number, value: number): Field => [id, I32, int(value)];
const i64 = (id: number, value: number): Field => [id, I64, int(value)];
const text = (value: string) => Buffer.concat([varint(Buffer.byteLength(value)), Buffer.from(value)]);
const list = (type: number, items: readonly Buffer[]) =>
  Buffer.concat([Buffer.from([0xf0 | type]), varint(items.length), ...items]);
function struct(fields: readonly Field[]): Buffer {
  let last = 0;
  const parts = fields.map(([id, type, bytes]) => {
    const head = Buffer.from([((id - last) << 4) | type]);
    last = id;
    return Buffer.concat([head, bytes]);
  });
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function plain(type: DrawnColumn['type'], values: readonly (number | string)[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      if (type === 'TEXT') {
        const bytes = Buffer.from(String(value));
        const length = Buffer.alloc(4);
        length.writeUInt32LE(bytes.length);
        return Buffer.concat([length, bytes]);
      }
      const bytes = Buffer.alloc(type === 'INT32' || type === 'FLOAT' ? 4 : 8);
      if (type === 'INT32') bytes.writeInt32LE(Number(value));
      else if (type === 'INT64') bytes.writeBigInt64LE(BigInt(value));
      else if (type === 'FLOAT') bytes.writeFloatLE(Number(value));
      else bytes.writeDoubleLE(Number(value));
      return bytes;
    }),
  );
}

/** One run of packed bits. */
export function packed(bits: number, values: readonly number[]): Buffer {
  const groups = Math.ceil(values.length / 8);
  const bytes = Buffer.alloc(groups * bits);
  values.forEach((value, i) => {
    for (let b = 0; b < bits; b++)
      if ((value >> b) & 1) bytes[(i * bits + b) >> 3]! |= 1 << ((i * bits + b) & 7);
  });
  return Buffer.concat([varint(groups * 2 + 1), bytes]);
}

/** Literals only. */
function snappy(bytes: Buffer): Buffer {
  const parts = [varint(bytes.length)];
  for (let at = 0; at < bytes.length; at += 60) {
    const literal = bytes.subarray(at, at + 60);
    parts.push(Buffer.from([(literal.length - 1) << 2]), literal);
  }
  return Buffer.concat(parts);
}

/** One raw block. */
function zstd(bytes: Buffer): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32LE(bytes.length, 5);
  head.writeUIntLE(bytes.length * 8 + 1, 9, 3);
  return Buffer.concat([head, bytes]);
}

function deflate(codec: number, bytes: Buffer): Buffer {
  if (codec === 1) return snappy(bytes);
  if (codec === 2) return gzipSync(bytes);
  if (codec === 6) return zstd(bytes);
  return codec === 4 ? brotliCompressSync(bytes) : bytes;
}

function drawChunk(column: DrawnColumn, values: DrawnColumn['values'], file: DrawnFile): Buffer {
  const { codec = 0, runs = packed } = file;
  const present = values.filter((v): v is number | string => v !== null);
  const entries = [...new Set(present)];
  const bits = Math.max(1, 32 - Math.clz32(entries.length - 1));
  const pages: Buffer[] = [];
  if (column.dictionary) {
    const bytes = plain(column.type, entries);
    const stored = deflate(codec, bytes);
    const head = struct([i32(1, entries.length), i32(2, 0)]);
    pages.push(struct([i32(1, 2), i32(2, bytes.length), i32(3, stored.length), [7, STRUCT, head]]), stored);
  }
  const body = column.dictionary
    ? Buffer.concat([
        Buffer.from([bits]),
        runs(
          bits,
          present.map((v) => entries.indexOf(v)),
        ),
      ])
    : plain(column.type, present);
  const levels =
    column.optional === false
      ? Buffer.alloc(0)
      : runs(
          1,
          values.map((v) => Number(v !== null)),
        );
  const encoding = column.dictionary ? 8 : 0;
  if (file.v2) {
    const stored = deflate(codec, body);
    const head = struct([
      i32(1, values.length),
      i32(2, values.length - present.length),
      i32(3, values.length),
      i32(4, encoding),
      i32(5, levels.length),
      i32(6, 0),
    ]);
    const sizes = [i32(2, levels.length + body.length), i32(3, levels.length + stored.length)];
    pages.push(struct([i32(1, 3), ...sizes, [8, STRUCT, head]]), levels, stored);
  } else {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(levels.length);
    const bytes = column.optional === false ? body : Buffer.concat([length, levels, body]);
    const stored = deflate(codec, bytes);
    const head = struct([i32(1, values.length), i32(2, encoding), i32(3, 3), i32(4, 3)]);
    pages.push(struct([i32(1, 0), i32(2, bytes.length), i32(3, stored.length), [5, STRUCT, head]]), stored);
  }
  return Buffer.concat(pages);
}

/** Writes a minimal Parquet file. */
export function drawParquet(file: DrawnFile): Buffer {
  const { columns, codec = 0 } = file;
  const rows = columns[0]?.values.length ?? 0;
  const size = file.groupSize ?? rows;
  const parts: Buffer[] = [Buffer.from('PAR1')];
  let at = 4;
  const groups: Buffer[] = [];
  for (let first = 0; first < rows; first += size) {
    const count = Math.min(size, rows - first);
    const chunks = columns.map((column) => {
      const bytes = drawChunk(column, column.values.slice(first, first + count), file);
      const meta = struct([
        i32(1, TYPES[column.type]),
        [2, LIST, list(I32, [int(0)])],
        [3, LIST, list(BINARY, [text(column.name)])],
        i32(4, codec),
        i64(5, count),
        i64(6, bytes.length),
        i64(7, bytes.length),
        i64(9, at),
      ]);
      const chunk = struct([i64(2, at), [3, STRUCT, meta]]);
      parts.push(bytes);
      at += bytes.length;
      return chunk;
    });
    groups.push(struct([[1, LIST, list(STRUCT, chunks)], i64(2, 0), i64(3, count)]));
  }
  const root = struct([
    [4, BINARY, text('schema')],
    [5, I32, int(columns.length)],
  ]);
  const elements = columns.map(({ name, type, optional, converted }) =>
    struct([
      i32(1, TYPES[type]),
      i32(3, optional === false ? 0 : 1),
      [4, BINARY, text(name)],
      ...(converted === undefined ? [] : [i32(6, converted)]),
    ]),
  );
  const footer = struct([
    i32(1, 2),
    [2, LIST, list(STRUCT, [root, ...elements])],
    i64(3, rows),
    [4, LIST, list(STRUCT, groups)],
  ]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([...parts, footer, length, Buffer.from('PAR1')]);
}

/** Reads bytes in chunks, cut at the given positions. */
export function read(bytes: Uint8Array, cuts: readonly number[] = []): ReadResult & { kind: 'operations' } {
  const reader = operationsReader.create({});
  const positions = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (let i = 1; i < positions.length; i++) reader.push(bytes.slice(positions[i - 1], positions[i]));
  const result = reader.finish();
  if (result.kind !== 'operations') throw new Error(`unexpected kind ${result.kind}`);
  return result;
}
