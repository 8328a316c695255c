import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import { ns } from '../../base/units.js';
import type { Compilation } from '../../model/compile-log.js';
import { torchTraceReader } from '../../readers/torch-trace/descriptor.js';
import { compilingOf } from './compiling.js';

const START = 1.7e18;
const at = (second: number) => ns(START + second * 1e9);
const compilation = (start: number, end: number, more: Partial<Compilation> = {}): Compilation => ({
  name: 'forward',
  file: 'train.py',
  line: 14,
  spans: [{ start: at(start), end: at(end) }],
  cache: { hits: 0, misses: 1, bypasses: 0, bypassReason: null },
  failure: null,
  collectives: null,
  ...more,
});
const log = (rank: number | null, ...compilations: Compilation[]) => ({
  times: {
    rank,
    first: compilations[0]!.spans[0]!.start,
    last: compilations.at(-1)!.spans[0]!.end,
    compilations,
  },
  started: null,
});

describe('what compiling took', () => {
  it('adds up per function, and overlaps count once in the total', () => {
    const compiling = compilingOf([
      log(null, compilation(0, 10), compilation(5, 12, { name: 'loss' }), compilation(20, 26)),
    ])!;
    expect(compiling.ranks[0]).toMatchObject({ total: 18e9, cache: { misses: 3 } });
    expect(compiling.ranks[0]!.functions.map((f) => [f.name, f.total / 1e9, f.versions])).toEqual([
      ['forward', 16, 2],
      ['loss', 7, 1],
    ]);
  });

  it('counts versions of one function that overlap once, so that none takes more than all', () => {
    const { ranks } = compilingOf([log(0, compilation(0, 10), compilation(4, 8), compilation(9, 11))])!;
    expect(ranks[0]!.total).toBe(11e9);
    expect(ranks[0]!.functions).toMatchObject([{ total: 11e9, versions: 3 }]);
  });

  it('of several logs of a rank in one folder, only the newest counts', () => {
    const compiling = compilingOf([log(0, compilation(0, 10)), log(0, compilation(5000, 5003))])!;
    expect(compiling).toMatchObject({ earlier: 1, ranks: [{ total: 3e9 }] });
  });
});

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/torch-trace/${name}`, import.meta.url));

describe('a rank that compiles by itself', () => {
  it('in a real job of two ranks is rank 1, for as long as the job measured, within 5%', () => {
    const { alone } = compilingOf(
      [0, 1].map((rank) => {
        const { log } = readCut(torchTraceReader, fixture(`rank_${rank}.txt`), []);
        return { times: log.times!, started: null };
      }),
    )!;
    // The first step compiles on both ranks.
    const [, ...later] = JSON.parse(fixture('rank_1.timers.json').toString()).calls_s as number[];
    const measured = later.reduce((a, b) => a + b, 0);
    expect(alone!.rank).toBe(1);
    expect(alone!.total / 1e9 / measured).toBeGreaterThan(0.95);
    expect(alone!.total / 1e9 / measured).toBeLessThan(1.05);
  });

  it('is named, with the time in which most others did not compile', () => {
    const start = [0, 1, 2, 3].map((rank) => compilation(0, 30 + rank / 10));
    const logs = start.map((first, rank) =>
      rank === 2 ? log(rank, first, compilation(50, 60), compilation(70, 82)) : log(rank, first),
    );
    const { alone } = compilingOf(logs)!;
    expect(alone).toMatchObject({ rank: 2 });
    expect(alone!.total / 1e9).toBeCloseTo(22, 0);
  });

  it.each([
    ['ranks that start a little apart', [log(0, compilation(0, 30)), log(1, compilation(1, 31))]],
    ['runs hours apart', [log(0, compilation(0, 30)), log(1, compilation(9000, 9020))]],
    ['a job of one process', [log(null, compilation(0, 30), compilation(40, 60))]],
  ])('is not found in %s', (_, logs) => {
    expect(compilingOf(logs)!.alone).toBeNull();
  });
});

describe('collectives in compiled code', () => {
  const [reduce, gather] = [
    'torch.ops._c10d_functional.all_reduce_.default',
    'torch.ops.c10d.gather.default',
  ];
  const one = (rank: number, ...lists: (string[] | null)[]) =>
    log(rank, ...lists.map((collectives, i) => compilation(i, i + 1, { collectives })));

  it('that differ between ranks are found, with the first that differs', () => {
    const { diverging } = compilingOf([
      one(0, [reduce, gather]),
      one(1, [reduce]),
      one(2, [reduce, gather]),
    ])!;
    expect(diverging).toEqual([
      {
        name: 'forward',
        file: 'train.py',
        line: 14,
        position: 2,
        calls: [
          { call: 'gather', ranks: [0, 2] },
          { call: null, ranks: [1] },
        ],
      },
    ]);
  });

  it.each([
    ['equal', [one(0, [reduce]), one(1, [reduce])]],
    ['versions that both ranks have', [one(0, [reduce], [gather]), one(1, [gather])]],
    ['code of one rank from a cache', [one(0, [reduce]), one(1, null)]],
  ])('%s: nothing diverges', (_, logs) => {
    expect(compilingOf(logs)!.diverging).toEqual([]);
  });
});
