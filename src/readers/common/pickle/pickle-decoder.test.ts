import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../../test/helpers/cases.js';
import { damage, damaged, pickled } from '../../../../test/helpers/pickles.js';
import { describeWithTorch, python } from '../../../../test/helpers/python.js';
import { OPCODES } from './opcodes.js';
import { PickleDecoder, unpickle } from './pickle-decoder.js';

const LIMITS = { memory: 1 << 24, visits: 1_000_000 };
const bytes = (...parts: (string | number | readonly number[])[]) =>
  Buffer.concat(
    parts.map((p) => (typeof p === 'string' ? Buffer.from(p, 'latin1') : Buffer.from([p].flat()))),
  );
const read = (...parts: Parameters<typeof bytes>) => unpickle(bytes([0x80, 4], ...parts), LIMITS);
const fixture = (name: string) =>
  readFileSync(
    new URL(`../../../../test/fixtures/flight-recorder/nccl_trace_rank_0.${name}`, import.meta.url),
  );

/** The same bytes, cut anywhere, in memory that is used again. */
function inPieces(whole: Buffer, cuts: readonly number[]) {
  const decoder = new PickleDecoder(LIMITS);
  let from = 0;
  for (const cut of [...cuts.map((c) => Math.min(c, whole.length)), whole.length].sort((a, b) => a - b)) {
    const chunk = new Uint8Array(whole.subarray(from, cut));
    decoder.push(chunk);
    chunk.fill(0x2e);
    from = cut;
  }
  return decoder.finish();
}

/** What could make Python run code, load objects, or ask the program for them. */
const CAN_RUN_CODE = {
  GLOBAL: 'cos\nsystem\n',
  STACK_GLOBAL: '\x8c\x02os\x8c\x06system\x93',
  REDUCE: '\x8c\x02ls\x85R',
  BUILD: '}}b',
  INST: '(X\x02\0\0\0lsios\nsystem\n',
  OBJ: '(\x8c\x02os\x8c\x02lso',
  NEWOBJ: ')\x81',
  NEWOBJ_EX: ')}\x92',
  EXT1: '\x82\x01',
  EXT2: '\x83\x01\0',
  EXT4: '\x84\x01\0\0\0',
  PERSID: 'Pfile:///etc/passwd\n',
  BINPERSID: '\x8c\x02idQ',
  NEXT_BUFFER: '\x97',
  READONLY_BUFFER: '\x8c\x02id\x98',
};

describe('a pickle', () => {
  it('of torch gives what its JSON gives', () => {
    const { value, problem } = unpickle(fixture('pickle'), LIMITS);
    expect(problem).toBeNull();
    const json = JSON.parse(fixture('json').toString()) as { pg_config: object; entries: unknown[] };
    const entries = (value as typeof json).entries as Record<string, unknown>[];
    expect(entries).toHaveLength(json.entries.length);
    expect(entries[0]).toMatchObject({ record_id: 0, state: 'scheduled', retired: true, input_sizes: [[4]] });
    expect(Object.keys((value as typeof json).pg_config)).toEqual(Object.keys(json.pg_config));
  });

  it('of any plain value gives that value, wherever its bytes are cut', () => {
    const places = fc.array(fc.nat(200), { maxLength: 6 });
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), places, (value, cuts) => {
        expect(inPieces(pickled(value), cuts)).toEqual({ value, problem: null });
      }),
      { numRuns: cases(200, 20_000) },
    );
  });

  it('has numbers of any length, shared values, and keys that are not text', () => {
    const long = (...le: number[]) => read([0x8a, le.length, ...le], '.').value;
    expect([long(), long(0xff), long(0, 0, 0, 0, 0, 0x80, 0)]).toEqual([0, -1, 2 ** 47]);
    expect(long(0, 0, 0, 0, 0, 0, 0, 0, 0, 1)).toBe(2 ** 72);
    expect(long(...Array<number>(9).fill(0xff))).toBe(-1);
    const shared = read(']\x94(]\x94K\x01ah\x01h\x01e.').value as unknown[];
    expect(shared).toEqual([[1], [1], [1]]);
    expect(shared[0]).toBe(shared[2]);
    expect(read('}(K\x01NNNu.').value).toEqual({ 1: null, null: null });
  });

  it('does not change objects by a key named __proto__', () => {
    const { value } = read('}\x8c\x09__proto__}\x8c\x01xK\x01ss.');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect((value as { x?: unknown }).x).toBeUndefined();
  });
});

describe('a pickle is refused', () => {
  it.each(Object.entries(CAN_RUN_CODE))('if it has %s, which could run code', (name, payload) => {
    for (const before of ['', '}\x8c\x01a', '](K\x01', 'N']) {
      const { value, problem } = read(before, payload, '.');
      expect(value).toBeNull();
      expect(problem).toMatchObject({ code: 'pickle-code', consequence: 'It was not read.' });
    }
    expect(read(payload, '.').problem?.message).toMatch(/more than data/);
    expect(Object.values(OPCODES).filter((o) => o.name === name)).toHaveLength(1);
  });

  it.each([
    ['a list in itself', ']\x94h\x00a.'],
    ['a list in a list in itself', ']\x94]\x94h\x00ah\x01a.'],
    ['a dict in its own value', '}\x94\x8c\x01a]\x94h\x00as.'],
    ['a list that grows after it was used', ']\x94]\x94h\x00ah\x01ah\x00K\x01a0.'],
    ['a missing mark', ']e.'],
    ['a missing value', '.'],
    ['a value below a mark', 'K\x01(\x85.'],
    ['a memo entry that does not exist', 'h\x05.'],
    ['a memo with holes', 'Nq\x09.'],
    ['an unknown opcode', '\xff.'],
    ['an end without STOP', '}'],
    ['an odd number of keys and values', '}(Nu.'],
    ['items of a number', 'K\x01Na.'],
    ['a list as a key', '}]Ns.'],
    ['a number of 100 bytes', `\x8a\x64${'\x01'.repeat(100)}.`],
    ['a text of 4 GB', 'X\xff\xff\xff\xff'],
    ['a text of 16 EB', `\x8d${'\xff'.repeat(8)}`],
    ['a text protocol', 'I12\n.'],
    ['protocol 1 or 6', '\x80\x06N.'],
  ])('with %s', (_, payload) => {
    expect(read(payload).problem).toMatchObject({ code: 'broken-pickle', first: { unit: 'byte' } });
  });

  it.each([
    ['deep lists', bytes(']'.repeat(100), 'a'.repeat(99), '.')],
    ['deep marks', bytes('('.repeat(10_000))],
    ['empty lists by the million', bytes('('.repeat(1), ']'.repeat(1 << 20))],
    ['numbers on the stack by the million', bytes('N'.repeat(1 << 21))],
    // Each list has the one before it ten times: 10^30 values in 400 bytes.
    [
      'lists that double',
      bytes(
        ']\x94',
        Array.from({ length: 30 }, (_, i) => `](${`j${String.fromCharCode(i)}\0\0\0`.repeat(10)}e\x94`).join(
          '',
        ),
        '.',
      ),
    ],
  ])('with %s, whatever it would take to hold or walk it', (_, payload) => {
    expect(read(payload.toString('latin1')).problem?.code).toBe('pickle-too-large');
  });

  it('or read, but never throws, and reads the same in pieces, when bytes are damaged', () => {
    const good = [
      fixture('pickle'),
      pickled(JSON.parse(fixture('json').toString())),
      pickled([[{ a: 'a' }, 'a'], 1.5]),
    ];
    const places = fc.array(fc.nat(5000), { maxLength: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...good), damage, places, (file, changes, cuts) => {
        const whole = damaged(file, changes);
        const result = unpickle(whole, LIMITS);
        expect(inPieces(whole, cuts)).toEqual(result);
        // Throws on cycles.
        expect(JSON.stringify(result)).toBeDefined();
      }),
      { numRuns: cases(300, 1_000_000) },
    );
  });
});

describeWithTorch('Python', () => {
  it('writes pickles of protocols 2 to 5 that are read as its JSON', () => {
    const code = `
import json, pickle, random, sys
r = random.Random(5)
shared = ["s", "ü\\U0001f600", "x" * 300]
def any_(d):
    k = r.randrange(10 if d else 7)
    if k == 0: return None
    if k == 1: return r.random() < 0.5
    if k == 2: return r.choice([0, 255, 256, 65535, 65536, -1, 2**31, -2**31, 2**40, 2**53 - 1, -2**53 + 1])
    if k == 3: return r.random() * 10 ** r.randrange(-5, 9)
    if k < 7: return r.choice(shared)
    if k == 7: return {r.choice(shared) + str(i): any_(d - 1) for i in range(r.randrange(4))}
    return (list if k == 8 else tuple)(any_(d - 1) for _ in range(r.choice([0, 1, 2, 3, 5])))
for i in range(200):
    v = [any_(5), list(range(3000)) if i % 50 == 0 else shared, shared]
    dump = pickle.dumps if i % 2 else pickle._dumps
    print(json.dumps([dump(v, protocol=2 + i % 4).hex(), v]))
`;
    const lines = execFileSync(python, ['-c', code], { maxBuffer: 1 << 26, encoding: 'utf8' })
      .trim()
      .split('\n');
    expect(lines).toHaveLength(200);
    for (const line of lines) {
      const [hex, value] = JSON.parse(line) as [string, unknown];
      expect(unpickle(Buffer.from(hex, 'hex'), LIMITS)).toEqual({ value, problem: null });
    }
  });

  it('knows the same opcodes', () => {
    const code = 'import json,pickletools;print(json.dumps({o.code:o.name for o in pickletools.opcodes}))';
    const known = JSON.parse(execFileSync(python, ['-c', code], { encoding: 'utf8' })) as object;
    expect(Object.fromEntries(Object.entries(OPCODES).map(([byte, o]) => [byte, o.name]))).toEqual(known);
  });
});
