import { Message } from '../pftrace/message.js';
import type { Random } from '../simulate/random.js';
import { below, mutateBytes, pick, timesRepeated } from './mutate.js';

/** A field of a protobuf message. Bytes that are a message themselves are one here. */
type Field =
  | { readonly field: number; readonly wire: 0 | 1 | 5; value: bigint }
  | { readonly field: number; readonly wire: 2; value: Uint8Array | Field[] };

const MAX_DEPTH = 8;
const NUMBERS = [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 62n, 2n ** 63n - 1n, 2n ** 64n - 1n];

/** Changes a few fields anywhere in a message. Its lengths stay right, except where one is meant to be wrong. */
export function mutateMessage(bytes: Buffer, random: Random, times: number): Buffer {
  const fields = parsed(bytes, 0);
  if (!fields) return mutateBytes(bytes, random);
  for (let i = 0; i < times; i++) change(fields, random);
  return written(fields);
}

/** Null: these bytes are no message. */
function parsed(bytes: Buffer, depth: number): Field[] | null {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint | null => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= bytes.length) return null;
      const byte = bytes[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    return null;
  };
  while (at < bytes.length) {
    const key = varint();
    if (key === null || key >> 3n === 0n || key >> 3n > 4095n) return null;
    const [field, wire] = [Number(key >> 3n), Number(key & 7n)];
    if (wire === 0) {
      const value = varint();
      if (value === null) return null;
      fields.push({ field, wire, value });
    } else if (wire === 1 || wire === 5) {
      const size = wire === 1 ? 8 : 4;
      if (at + size > bytes.length) return null;
      fields.push({
        field,
        wire,
        value: wire === 1 ? bytes.readBigUInt64LE(at) : BigInt(bytes.readUInt32LE(at)),
      });
      at += size;
    } else if (wire === 2) {
      const size = varint();
      if (size === null || Number(size) > bytes.length - at) return null;
      const inner = bytes.subarray(at, at + Number(size));
      at += inner.length;
      const isText = inner.every((byte) => byte >= 32 && byte < 127);
      const message = isText || depth >= MAX_DEPTH ? null : parsed(inner, depth + 1);
      fields.push({ field, wire, value: message ?? inner });
    } else return null;
  }
  return fields;
}

function change(fields: Field[], random: Random): void {
  if (fields.length === 0) return;
  const at = below(random, fields.length);
  const field = fields[at]!;
  if (field.wire === 2 && Array.isArray(field.value) && random.next() < 0.85) {
    change(field.value, random);
    return;
  }
  const kind = random.next();
  if (kind < 0.1) fields.splice(at, 1);
  else if (kind < 0.2) fields.splice(below(random, fields.length), 0, copyOf(field));
  else if (kind < 0.27) fields.splice(at, 0, ...repeated(field, random));
  else if (kind < 0.35) fields[at] = { ...field, field: 1 + below(random, 64) } as Field;
  else if (field.wire !== 2)
    field.value = pick(random, [...NUMBERS, field.value + 1n, -field.value, field.value << 20n]);
  else if (kind < 0.5) field.value = nested(field, random);
  else
    field.value =
      random.next() < 0.5 ? text(random) : mutateBytes(written(field.value as Uint8Array | Field[]), random);
}

const copyOf = (field: Field) => structuredClone(field) as Field;

function repeated(field: Field, random: Random): Field[] {
  const times = Math.min(timesRepeated(random), Math.ceil(1e6 / (written([field]).length + 1)));
  const by = pick(random, [0n, 1n, 1000n]);
  return Array.from({ length: times }, (_, i) => {
    const copy = copyOf(field);
    move(copy, by * BigInt(i));
    return copy;
  });
}

function move(field: Field, by: bigint): void {
  if (field.wire !== 2) field.value += by;
  else if (Array.isArray(field.value)) for (const inner of field.value) move(inner, by);
}

/** The field in itself, many times. */
function nested(field: Field, random: Random): Buffer {
  let bytes = written([field]);
  for (let i = below(random, 400); i > 0 && bytes.length < 100_000; i--)
    bytes = Buffer.from(new Message().bytes(field.field, bytes).finish());
  return bytes;
}

const text = (random: Random) =>
  Buffer.from(
    pick(random, ['', '\u202e', '\x1b[2J', 'a'.repeat(300), 'b'.repeat(70_000), '\ud800', '__proto__']),
  );

function written(value: Uint8Array | readonly Field[]): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  const message = new Message();
  for (const f of value) {
    if (f.wire === 2) message.bytes(f.field, written(f.value));
    else if (f.wire === 0) message.number(f.field, f.value);
    else if (f.wire === 1) message.fixed64(f.field, f.value);
    else message.fixed32(f.field, Number(BigInt.asUintN(32, f.value)));
  }
  return Buffer.from(message.finish());
}
