import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import type { CompileLog } from '../../model/compile-log.js';
import { parseGuard } from '../common/compile/guards.js';
import { torchLogReader } from './descriptor.js';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/torch-logs/${name}.txt`, import.meta.url));

function read(input: string | Uint8Array, cuts: readonly number[] = []): CompileLog {
  const result = readCut(torchLogReader, input, cuts);
  return result.log;
}

describe('logs of torch 2.13', () => {
  it('tells function, guard, dimension and sizes of every recompile', () => {
    const [forward, loss] = read(fixture('recompiles')).functions;
    expect(forward).toMatchObject({
      rank: null,
      name: 'forward',
      file: '/job/ragged.py',
      line: 8,
      limit: { setting: 'recompile_limit', value: 8 },
    });
    expect(forward!.guards.map((g) => [g.kind, g.subject, g.dimension])).toEqual(
      expect.arrayContaining([
        ['size', 'tokens', 1],
        ['value', 'flag', null],
      ]),
    );
    const size = forward!.guards.find((g) => g.kind === 'size')!;
    expect(new Set(size.values).size).toBe(9);
    // The guard fails for several cache entries at once, but counts once a recompile.
    expect(size.recompiles).toBeLessThanOrEqual(forward!.recompiles + 1);
    expect(loss).toMatchObject({ name: 'loss', recompiles: 3, limit: null });
    expect(loss!.guards[0]).toMatchObject({ kind: 'value', subject: 'k', values: ['0', '1', '2'] });
  });

  it('reads the warning that torch writes by itself', () => {
    expect(read(fixture('limit')).functions).toEqual([
      {
        rank: null,
        name: 'forward',
        file: '/job/ragged.py',
        line: 8,
        recompiles: 0,
        limit: { setting: 'recompile_limit', value: 8 },
        guards: [
          {
            kind: 'size',
            subject: 'tokens',
            dimension: 1,
            recompiles: 1,
            values: ['12', '13'],
            text: "tensor 'tokens' size mismatch at index 1. expected 12, actual 13",
          },
        ],
      },
    ]);
  });

  it('reads graph breaks with their reason', () => {
    const [first] = read(fixture('graph-breaks')).graphBreaks;
    expect(first).toEqual({
      rank: null,
      file: '/job/breaks.py',
      line: 5,
      reason: 'Data-dependent branching',
      count: 1,
    });
  });
});

const OLD = `Loading data
[2024-01-15 00:59:44,690] [0/8] torch._dynamo.convert_frame: [WARNING] torch._dynamo hit config.cache_size_limit (8)
[2024-01-15 00:59:44,690] [0/8] torch._dynamo.convert_frame: [WARNING]    function: 'forward' (train.py:33)
[2024-01-15 00:59:44,690] [0/8] torch._dynamo.convert_frame: [WARNING]    last reason: tensor 'L['x']' size mismatch at index 0. expected 4, actual 5
`;
const line = (rank: number, text: string) =>
  `[rank${rank}]:V1115 00:59:44.690000 402 torch/_dynamo/guards.py:1] [0/1] [__recompiles] ${text}\n`;

describe('other logs', () => {
  it('reads the form of torch 2.1', () => {
    expect(read(OLD).functions[0]).toMatchObject({
      name: 'forward',
      limit: { setting: 'cache_size_limit', value: 8 },
      guards: [{ subject: 'x', dimension: 0, values: ['4', '5'] }],
    });
  });

  it('keeps ranks apart whose lines are mixed', () => {
    const text = [0, 1].map((rank) => line(rank, `Recompiling function f${rank} in t.py:${rank}`));
    const guards = [0, 1].map((rank) => line(rank, `    - 0/0: n${rank} == ${rank}`));
    const { functions } = read([...text, ...guards].join(''));
    expect(functions.map((f) => [f.rank, f.name, f.guards[0]!.subject])).toEqual([
      [0, 'f0', 'n0'],
      [1, 'f1', 'n1'],
    ]);
  });

  it('is recognized by a line of torch, wherever it is, and by nothing else', () => {
    expect(torchLogReader.sniff(fixture('limit'))).toBe(true);
    expect(torchLogReader.sniff(Buffer.from(`epoch 1\nepoch 2\n${line(3, 'x')}`))).toBe(true);
    for (const other of ['', 'step 1 loss 3.2\n', '{"traceEvents": []}', '# gpu pwr sm\n'])
      expect(torchLogReader.sniff(Buffer.from(other))).toBe(false);
  });
});

it.each([
  ["tensor 'x' dtype mismatch. expected Float, actual Double", 'dtype', 'x', null],
  ["tensor 'x' rank mismatch. expected 2, actual 3", 'rank', 'x', null],
  ["tensor 'L['x']' requires_grad mismatch. expected requires_grad=1", 'grad-mode', 'x', null],
  ['GLOBAL_STATE changed: grad_mode ', 'grad-mode', '', null],
  ["L['self'].scale == 3          # return y * self.scale  # t.py:4 in f", 'value', 'self.scale', null],
  ["len(L['xs']) == 3", 'length', 'xs', null],
  ["___check_obj_id(L['opt'], 140012)", 'object', 'opt', null],
  ["L['x'].size()[0] == 4", 'size', 'x', 0],
  ["2 <= L['x'].size()[1]", 'size', 'x', 1],
  ['something torch will say one day', 'other', '', null],
] as const)('reads the guard %s', (text, kind, subject, dimension) => {
  expect(parseGuard(text)).toMatchObject({ kind, subject, dimension });
});

describe('any bytes', () => {
  const real = fixture('recompiles');

  it('give the same however they are cut', () => {
    const whole = read(real);
    fc.assert(
      fc.property(fc.array(fc.nat(real.length), { maxLength: 6 }), (cuts) => {
        expect(read(real, cuts)).toEqual(whole);
      }),
      { numRuns: 30 },
    );
  });

  it('never throw, and a cut log gives a prefix', () => {
    const flip = fc.tuple(fc.nat(real.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(flip, { maxLength: 20 }), fc.nat(real.length), (flips, end) => {
        const bytes = Uint8Array.from(real);
        for (const [at, value] of flips) bytes[at] = value;
        const { functions } = read(bytes.subarray(0, end));
        for (const f of functions) expect(f.guards.every((g) => g.text.length <= 256)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
