import { expect, it } from 'vitest';
import { runOf } from '../../../test/helpers/draw-run.js';
import { ns } from '../../base/units.js';
import type { Compiling } from '../../diagnosis/compiling/compiling.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import { runRules } from '../run-rules.js';
import { rule } from './compiles-alone.js';

const NOTHING: Compiling = { ranks: [], alone: null, diverging: [], earlier: 0 };
const ask = (alone: Compiling['alone']) =>
  runRules([rule], { ...runOf([]), evidence: { ...NO_EVIDENCE, compiling: { ...NOTHING, alone } } });

it('a rank that compiles by itself is named, with the time that the others wait', () => {
  const [finding] = ask({ rank: 1, total: ns(62e9) }).findings;
  expect(finding).toMatchObject({ id: 'compiles-alone', rule: 'W1', ranks: [1] });
  expect(finding!.evidence[0]).toMatchObject({ value: 62, unit: 's', rank: 1 });
  expect(finding!.fix.text).toMatch(/[Gg]ive rank 1 the same shapes|rank 1/);
});

it('ranks that compile at the same time are not reported', () => {
  expect(ask(null).findings).toEqual([]);
});
