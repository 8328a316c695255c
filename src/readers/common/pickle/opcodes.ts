import { broken, PickleFault, type PickleValues } from './pickle-values.js';

/** What follows the opcode: bytes of fixed length, or a length of so many bytes and then as many bytes as that says. */
type Argument = { readonly fixed: number } | { readonly counted: 1 | 4 | 8 };

export interface Opcode {
  readonly name: string;
  readonly argument: Argument;
  /** `bytes` from `at` to `end` are the argument, without its length. */
  readonly run: (values: PickleValues, bytes: Buffer, at: number, end: number) => void;
}

const fixed = (name: string, length: number, run: Opcode['run']): Opcode => ({
  name,
  argument: { fixed: length },
  run,
});
const text = (name: string, counted: 1 | 4 | 8): Opcode => ({
  name,
  argument: { counted },
  run: (values, bytes, at, end) => values.pushText(bytes.toString('utf8', at, end)),
});
const long = (name: string, counted: 1 | 4): Opcode => ({
  name,
  argument: { counted },
  run: (values, bytes, at, end) => values.push(wholeNumber(bytes, at, end)),
});
/** Imports names, calls what it imported, or asks the program for objects: unpickling data never needs it. */
const refused = (name: string): Opcode =>
  fixed(name, 0, () => {
    throw new PickleFault(
      'pickle-code',
      `The pickle is more than data: it wants Python to run code or to load objects (${name}). whyslow reads only data.`,
    );
  });
/** Text, as protocols 0 and 1 write it. */
const old = (name: string): Opcode =>
  fixed(name, 0, () => {
    throw broken(`${name} belongs to protocols 0 and 1, which torch does not write`);
  });

const nothing = () => {};

/** All opcodes of Python's `pickletools`, by their byte. */
export const OPCODES: Readonly<Record<string, Opcode>> = {
  '\x80': fixed('PROTO', 1, (_values, bytes, at) => {
    if (bytes[at]! < 2 || bytes[at]! > 5) throw broken(`protocol ${bytes[at]} is not one of 2 to 5`);
  }),
  '\x95': fixed('FRAME', 8, nothing),
  '.': fixed('STOP', 0, nothing),

  N: fixed('NONE', 0, (values) => values.push(null)),
  '\x88': fixed('NEWTRUE', 0, (values) => values.push(true)),
  '\x89': fixed('NEWFALSE', 0, (values) => values.push(false)),
  K: fixed('BININT1', 1, (values, bytes, at) => values.push(bytes[at])),
  M: fixed('BININT2', 2, (values, bytes, at) => values.push(bytes.readUInt16LE(at))),
  J: fixed('BININT', 4, (values, bytes, at) => values.push(bytes.readInt32LE(at))),
  G: fixed('BINFLOAT', 8, (values, bytes, at) => values.push(bytes.readDoubleBE(at))),
  '\x8a': long('LONG1', 1),
  '\x8b': long('LONG4', 4),

  '\x8c': text('SHORT_BINUNICODE', 1),
  X: text('BINUNICODE', 4),
  '\x8d': text('BINUNICODE8', 8),
  U: text('SHORT_BINSTRING', 1),
  T: text('BINSTRING', 4),
  C: text('SHORT_BINBYTES', 1),
  B: text('BINBYTES', 4),
  '\x8e': text('BINBYTES8', 8),
  '\x96': text('BYTEARRAY8', 8),

  ']': fixed('EMPTY_LIST', 0, (values) => values.pushContainer([])),
  ')': fixed('EMPTY_TUPLE', 0, (values) => values.pushContainer([])),
  '\x8f': fixed('EMPTY_SET', 0, (values) => values.pushContainer([])),
  '}': fixed('EMPTY_DICT', 0, (values) => values.pushContainer({})),
  a: fixed('APPEND', 0, (values) => values.append(values.popMany(1))),
  e: fixed('APPENDS', 0, (values) => values.append(values.popToMark())),
  '\x90': fixed('ADDITEMS', 0, (values) => values.append(values.popToMark())),
  s: fixed('SETITEM', 0, (values) => values.setItems(values.popMany(2))),
  u: fixed('SETITEMS', 0, (values) => values.setItems(values.popToMark())),
  l: fixed('LIST', 0, (values) => listOf(values, values.popToMark())),
  t: fixed('TUPLE', 0, (values) => listOf(values, values.popToMark())),
  '\x91': fixed('FROZENSET', 0, (values) => listOf(values, values.popToMark())),
  '\x85': fixed('TUPLE1', 0, (values) => listOf(values, values.popMany(1))),
  '\x86': fixed('TUPLE2', 0, (values) => listOf(values, values.popMany(2))),
  '\x87': fixed('TUPLE3', 0, (values) => listOf(values, values.popMany(3))),
  d: fixed('DICT', 0, (values) => {
    const items = values.popToMark();
    values.pushContainer({});
    values.setItems(items);
  }),

  '(': fixed('MARK', 0, (values) => values.mark()),
  0: fixed('POP', 0, (values) => void values.pop()),
  1: fixed('POP_MARK', 0, (values) => void values.popToMark()),
  2: fixed('DUP', 0, (values) => values.push(values.top())),
  '\x94': fixed('MEMOIZE', 0, (values) => values.memoize()),
  q: fixed('BINPUT', 1, (values, bytes, at) => values.memoize(bytes[at])),
  r: fixed('LONG_BINPUT', 4, (values, bytes, at) => values.memoize(bytes.readUInt32LE(at))),
  h: fixed('BINGET', 1, (values, bytes, at) => values.recall(bytes[at]!)),
  j: fixed('LONG_BINGET', 4, (values, bytes, at) => values.recall(bytes.readUInt32LE(at))),

  c: refused('GLOBAL'),
  '\x93': refused('STACK_GLOBAL'),
  R: refused('REDUCE'),
  b: refused('BUILD'),
  i: refused('INST'),
  o: refused('OBJ'),
  '\x81': refused('NEWOBJ'),
  '\x92': refused('NEWOBJ_EX'),
  '\x82': refused('EXT1'),
  '\x83': refused('EXT2'),
  '\x84': refused('EXT4'),
  P: refused('PERSID'),
  Q: refused('BINPERSID'),
  '\x97': refused('NEXT_BUFFER'),
  '\x98': refused('READONLY_BUFFER'),

  I: old('INT'),
  L: old('LONG'),
  F: old('FLOAT'),
  S: old('STRING'),
  V: old('UNICODE'),
  g: old('GET'),
  p: old('PUT'),
};

export const STOP = 0x2e;

function listOf(values: PickleValues, items: readonly unknown[]): void {
  values.pushContainer([]);
  values.append(items);
}

/** Python's whole numbers have any length. Above 2^53 the last digits are lost, as in JSON. */
const MAX_NUMBER_BYTES = 64;

function wholeNumber(bytes: Buffer, at: number, end: number): number {
  const length = end - at;
  if (length === 0) return 0;
  if (length <= 6) return bytes.readIntLE(at, length);
  if (length === 8) return Number(bytes.readBigInt64LE(at));
  if (length > MAX_NUMBER_BYTES) throw broken(`a number has ${length} bytes`);
  const hex = Buffer.from(bytes.subarray(at, end)).reverse().toString('hex');
  return Number(BigInt.asIntN(8 * length, BigInt(`0x${hex}`)));
}
