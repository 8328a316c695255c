import type { ParquetType } from 'hyparquet';
import { deltaBinaryUnpack, deltaLengthByteArray } from 'hyparquet/src/delta.js';
import { byteStreamSplit } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { BadData, readRuns, Unsupported } from './runs.js';

/** Values as stored: numbers, bigints, or the bytes of texts. */
export type Values = ArrayLike<number | bigint | Uint8Array>;

/** Encodings by their number in the format. */
const PLAIN = 0;
const PLAIN_DICTIONARY = 2;
const DELTA_BINARY_PACKED = 5;
const DELTA_LENGTH_BYTE_ARRAY = 6;
const RLE_DICTIONARY = 8;
const BYTE_STREAM_SPLIT = 9;

/** `count` values from the bytes of a page without its levels. Dictionary indices are resolved. */
export function pageValues(
  bytes: Uint8Array,
  encoding: number | undefined,
  type: ParquetType,
  count: number,
  dictionary: Values | null,
): Values {
  if (count === 0) return [];
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
  switch (encoding) {
    case PLAIN:
      return plainValues(bytes, type, count);
    case PLAIN_DICTIONARY:
    case RLE_DICTIONARY: {
      if (dictionary === null) throw new BadData('no dictionary');
      const indices = new Int32Array(count);
      readRuns(bytes, 1, bytes[0] ?? 0, indices);
      const values = new Array<number | bigint | Uint8Array>(count);
      for (let i = 0; i < count; i++) {
        const value = dictionary[indices[i]!];
        if (value === undefined) throw new BadData('index beyond the dictionary');
        values[i] = value;
      }
      return values;
    }
    case DELTA_BINARY_PACKED: {
      if (type !== 'INT32' && type !== 'INT64') throw new BadData('deltas of no integers');
      const values = type === 'INT32' ? new Int32Array(count) : new BigInt64Array(count);
      deltaBinaryUnpack(reader, count, values);
      return values;
    }
    case DELTA_LENGTH_BYTE_ARRAY: {
      const values = new Array<Uint8Array>(count);
      deltaLengthByteArray(reader, count, values);
      return values;
    }
    case BYTE_STREAM_SPLIT:
      return byteStreamSplit(reader, count, type, undefined) as Values;
    default:
      throw new Unsupported(`encoding ${encoding}`);
  }
}

/** Bytes that a value takes at least: a page that promises more values is damaged. */
const LEAST_BYTES: Readonly<Partial<Record<ParquetType, number>>> = {
  INT32: 4,
  FLOAT: 4,
  INT64: 8,
  DOUBLE: 8,
  BYTE_ARRAY: 4,
};

export function plainValues(bytes: Uint8Array, type: ParquetType, count: number): Values {
  const least = LEAST_BYTES[type];
  if (least === undefined) throw new Unsupported(`type ${type}`);
  if (!(count >= 0 && count * least <= bytes.length)) throw new BadData('number of values');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readPlain({ view, offset: 0 }, type, count, undefined) as Values;
}
