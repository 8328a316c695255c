import { describe, expect, it } from 'vitest';
import type { RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';
import { keepRelated } from './unrelated.js';

const SECOND = 1_000_000_000n;
interface Drawn {
  readonly from: bigint | null;
  readonly rank?: number;
  readonly named?: boolean;
  readonly communicates?: boolean;
}
/** A trace of ten seconds. */
const trace = (path: string, at: number, { from, rank = at, named = false, communicates = false }: Drawn) =>
  ({
    of: 'trace',
    path,
    rank,
    rankSource: named ? 'name' : 'order',
    facts: { collectives: communicates ? {} : null },
    summary: {
      run: null,
      window: {
        startNs: from === null ? null : from * SECOND,
        endNs: from === null ? null : (from + 10n) * SECOND,
      },
    },
  }) as unknown as RankedInput;
const keptOf = (...drawn: Drawn[]) => {
  const members = drawn.map((d, i) => trace(`${'abcdef'[i]}.json`, i, d));
  const inputs = { members, beside: [], problems: [] } as unknown as RunInputs;
  const { members: kept, problems } = keepRelated(inputs);
  return { paths: kept.map((m) => m.path), ranks: kept.map((m) => m.rank), problems };
};

describe('traces without ranks', () => {
  it('that nothing connects are several runs: the newest is analyzed, and all are named', () => {
    const { paths, ranks, problems } = keptOf({ from: 100n }, { from: 5000n }, { from: 300n });
    expect([paths, ranks]).toEqual([['b.json'], [0]]);
    expect(problems).toMatchObject([
      {
        code: 'unrelated-traces',
        message: 'nothing connects these traces, so they are 3 runs: a.json, b.json, c.json',
        consequence: 'only b.json was analyzed; pass the path of another to analyze that',
      },
    ]);
  });

  it.each<[string, Drawn[]]>([
    ['were recorded at the same time', [{ from: 100n }, { from: 105n }]],
    [
      'communicate, and began within a minute',
      [
        { from: 100n, communicates: true },
        { from: 150n, communicates: true },
      ],
    ],
    [
      'communicate, and do not show when',
      [
        { from: null, communicates: true },
        { from: null, communicates: true },
      ],
    ],
    [
      'are windows of one process',
      [
        { from: 100n, rank: 0 },
        { from: 900n, rank: 0 },
      ],
    ],
    [
      'have ranks in their names',
      [
        { from: 100n, named: true },
        { from: 900n, named: true },
      ],
    ],
  ])('that %s stay together', (_, drawn) => expect(keptOf(...drawn).paths).toHaveLength(2));

  it('two ranks are preferred to a newer trace of something else', () =>
    expect(keptOf({ from: 100n }, { from: 101n }, { from: 9000n }).paths).toEqual(['a.json', 'b.json']));
});
