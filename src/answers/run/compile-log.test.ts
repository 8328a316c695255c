import { expect, it } from 'vitest';
import { NO_SPANS } from '../../base/intervals.js';
import { ns } from '../../base/units.js';
import type { Compiling } from '../../diagnosis/compiling/compiling.js';
import { compileLogAnswer } from './compile-log.js';

it('a torch.compile log alone gives no answer, but shows how to get one', () => {
  const answer = (compiled: number, graphBreaks: number) => {
    const lines = (n: number) => Array.from({ length: n }) as never[];
    return compileLogAnswer({
      evidence: { compiled: lines(compiled), graphBreaks: lines(graphBreaks), compiling: null },
    });
  };
  expect(answer(0, 0)).toBeNull();
  for (const claim of [answer(1, 0), answer(0, 1)])
    expect(claim).toMatchObject({
      bottleneck: 'unknown',
      words: { label: 'Unknown', headline: expect.stringMatching(/^the torch\.compile log/) },
      next: [expect.stringMatching(/whyslow run/)],
    });
});

const START = 1.7e18;
const rankOf = (seconds: number, of: number, more: object = {}) => ({
  rank: null,
  spans: NO_SPANS,
  total: ns(seconds * 1e9),
  first: ns(START),
  last: ns(START + of * 1e9),
  started: null,
  functions: [
    {
      name: 'forward',
      file: 'train.py',
      line: 14,
      total: ns(0.75 * seconds * 1e9),
      versions: 9,
      failures: [],
    },
  ],
  cache: { hits: 0, misses: 9, bypasses: 0, bypassReason: null },
  ...more,
});
const again = (recompiles: number) => ({
  rank: null,
  name: 'forward',
  file: 'train.py',
  line: 14,
  recompiles,
  limit: null,
  guards: [{ kind: 'size', subject: 'x', dimension: 0, recompiles, values: ['1', '2'], text: '' } as const],
});
const compiling = (more: Partial<Compiling>): Compiling => ({
  ranks: [rankOf(139, 150)],
  alone: null,
  diverging: [],
  earlier: 0,
  ...more,
});
const ask = (recompiles: number, more: Partial<Compiling> = {}) =>
  compileLogAnswer({
    evidence: { compiled: [again(recompiles)], graphBreaks: [], compiling: compiling(more) },
  })!;

it('a job that mostly recompiles is host-bound, with the function and the guard', () => {
  const { bottleneck, cause, words } = ask(8);
  expect({ bottleneck, cause }).toEqual({ bottleneck: 'host', cause: 'compile' });
  expect(words.headline).toMatch(/^compiling took 2 min 19 s, 93% of the 2 min 30 s from the first/);
  expect(words.details[0]).toBe(
    '75% of it is forward (train.py:14), compiled 9 times because the size of dimension 0 of x changes',
  );
});

it('the time is joined with the start of the job, if capture recorded it', () => {
  const ranks = [rankOf(139, 150, { started: ns(START - 30e9) })];
  expect(ask(8, { ranks }).words.headline).toBe('compiling took 2 min 19 s of the first 3 min of the job');
});

it.each([
  ['that compiles once at its start', 1, {}],
  ['whose compilations are a small part of the time', 8, { ranks: [rankOf(20, 150)] }],
  ['that compiles for a moment', 8, { ranks: [rankOf(4, 4)] }],
])('a job %s is not called host-bound', (_, recompiles, more) => {
  expect(ask(recompiles, more).bottleneck).toBe('unknown');
});

it('collectives that differ between ranks are the headline: the job can hang', () => {
  const calls = [
    { call: 'all_reduce', ranks: [0, 2] },
    { call: null, ranks: [1] },
  ];
  const { words } = ask(0, { diverging: [{ name: 'f', file: 'a.py', line: 3, position: 2, calls }] });
  expect(words.headline).toMatch(/^ranks run different collectives in f \(a\.py:3\).*nothing on rank 1/);
});
