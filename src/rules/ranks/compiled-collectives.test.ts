import { expect, it } from 'vitest';
import { runOf } from '../../../test/helpers/draw-run.js';
import type { Divergence } from '../../diagnosis/compiling/divergence.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import { runRules } from '../run-rules.js';
import { rule } from './compiled-collectives.js';

const ask = (diverging: readonly Divergence[]) =>
  runRules([rule], {
    ...runOf([]),
    evidence: { ...NO_EVIDENCE, compiling: { ranks: [], alone: null, diverging, earlier: 0 } },
  });

it('compiled code that calls other collectives on one rank is reported with both calls', () => {
  const calls = [
    { call: 'reduce_scatter_tensor', ranks: [0, 2] },
    { call: 'wait_tensor', ranks: [1] },
  ];
  const [finding] = ask([{ name: 'step', file: 'train.py', line: 9, position: 4, calls }]).findings;
  expect(finding).toMatchObject({ id: 'different-collectives', ranks: [0, 1, 2] });
  expect(finding!.evidence[0]!.text).toMatch(/step \(train\.py:9\).*reduce_scatter_tensor on ranks 0, 2/);
});

it('compiled code with the same collectives everywhere is not reported', () => {
  expect(ask([]).findings).toEqual([]);
});
