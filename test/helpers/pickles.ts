import fc from 'fast-check';

/** Anything JSON can hold, as a pickle of protocol 4. Its memo is used for texts and lists that are there twice, as Python does. */
export function pickled(value: unknown): Buffer {
  const known = new Map<unknown, number>();
  let memoized = 0;
  const parts: Buffer[] = [Buffer.from([0x80, 4])];
  const put = (...bytes: number[]) => void parts.push(Buffer.from(bytes));
  const write = (v: unknown): void => {
    if (v === null) put(0x4e);
    else if (typeof v === 'boolean') put(v ? 0x88 : 0x89);
    else if (typeof v === 'number') writeNumber(v);
    else if (known.has(v)) recall(known.get(v)!);
    else if (typeof v === 'string') writeText(v);
    else if (Array.isArray(v)) writeAll(v, 0x5d, v, 0x65);
    else writeAll(v, 0x7d, Object.entries(v as object).flat(), 0x75);
  };
  const writeNumber = (v: number) => {
    const bytes = Buffer.alloc(9);
    bytes[0] = 0x47;
    bytes.writeDoubleBE(v, 1);
    if (Number.isInteger(v) && v >= 0 && v < 256) put(0x4b, v);
    else parts.push(bytes);
  };
  const writeText = (v: string) => {
    const bytes = Buffer.from(v);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(bytes.length);
    parts.push(Buffer.from('X'), size, bytes);
    known.set(v, memoized++);
    put(0x94);
  };
  const recall = (at: number) => put(0x6a, at & 255, (at >> 8) & 255, (at >> 16) & 255, 0);
  const writeAll = (of: unknown, empty: number, all: readonly unknown[], end: number) => {
    put(empty, 0x94);
    known.set(of, memoized++);
    put(0x28);
    for (const v of all) write(v);
    put(end);
  };
  write(value);
  put(0x2e);
  return Buffer.concat(parts);
}

/** Damage to bytes: one is replaced, removed or added, or a part of the file is repeated or cut off. */
export const damage = fc.array(
  fc.record({
    how: fc.constantFrom('replace', 'remove', 'add', 'repeat', 'cut'),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.integer({ min: 0, max: 255 }),
  }),
  { minLength: 1, maxLength: 6 },
);

export function damaged(bytes: Buffer, changes: ReturnType<(typeof damage)['generate']>['value']): Buffer {
  return changes.reduce((b, { how, at: share, byte }) => {
    const at = Math.floor(share * b.length);
    const [head, tail] = [b.subarray(0, at), b.subarray(at)];
    if (how === 'cut') return head;
    if (how === 'repeat') return Buffer.concat([head, tail.subarray(0, byte), tail]);
    const middle = how === 'remove' ? [] : [byte];
    return Buffer.concat([head, Buffer.from(middle), tail.subarray(how === 'add' ? 0 : 1)]);
  }, bytes);
}
