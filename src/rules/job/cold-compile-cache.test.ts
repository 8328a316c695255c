import { expect, it } from 'vitest';
import { runOf } from '../../../test/helpers/draw-run.js';
import { NO_SPANS } from '../../base/intervals.js';
import { ns } from '../../base/units.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import type { CacheLookups, CompiledFunction } from '../../model/compile-log.js';
import { runRules } from '../run-rules.js';
import { rule } from './cold-compile-cache.js';

function ask(seconds: number, lookups: Partial<CacheLookups>, compiled: readonly CompiledFunction[] = []) {
  const cache = { hits: 0, misses: 0, bypasses: 0, bypassReason: null, ...lookups };
  const rank = {
    rank: 0,
    spans: NO_SPANS,
    total: ns(seconds * 1e9),
    first: ns(0),
    last: ns(0),
    started: null,
  };
  const compiling = { ranks: [{ ...rank, functions: [], cache }], alone: null, diverging: [], earlier: 0 };
  const { findings, silent } = runRules([rule], {
    ...runOf([]),
    evidence: { ...NO_EVIDENCE, compiling, compiled },
  });
  return findings[0] ?? silent[0]!.reason;
}

it('a long start without anything from the cache is reported, with what cannot be cached', () => {
  expect(ask(140, { misses: 31, hits: 1, bypasses: 2, bypassReason: 'a custom pass' })).toMatchObject({
    id: 'cold-compile-cache',
    evidence: [
      { text: expect.stringMatching(/^31 of 32 lookups missed/) },
      { text: '2 graphs cannot be cached: a custom pass' },
    ],
    fix: { code: expect.stringMatching(/TORCHINDUCTOR_CACHE_DIR/) },
  });
});

it('a short start, a warm cache, a log without lookups and repeated recompiles are not reported', () => {
  expect(ask(8, { misses: 31 })).toMatch(/only 8/);
  expect(ask(140, { misses: 2, hits: 30 })).toMatch(/6\.3% of the lookups missed/);
  expect(ask(140, {})).toMatch(/no lookup/);
  const again = { rank: 0, name: 'f', file: 't.py', line: 1, recompiles: 7, limit: null, guards: [] };
  expect(ask(140, { misses: 9 }, [again])).toMatch(/again and again/);
});
