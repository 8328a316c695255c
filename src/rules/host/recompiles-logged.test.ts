import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS, check, drawView, runOf } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import type { CompiledFunction, FailedGuard, GuardKind } from '../../model/compile-log.js';
import { runRules } from '../run-rules.js';
import { rule } from './recompiles-logged.js';

const guard = (kind: GuardKind, values: readonly string[], more: Partial<FailedGuard> = {}): FailedGuard => ({
  kind,
  subject: 'tokens',
  dimension: kind === 'size' ? 1 : null,
  recompiles: 3,
  values,
  text: 'a guard',
  ...more,
});
const compiled = (more: Partial<CompiledFunction>): CompiledFunction => ({
  rank: null,
  name: 'forward',
  file: 'model.py',
  line: 33,
  recompiles: 5,
  limit: null,
  guards: [guard('value', ['True', 'False'], { subject: 'flag' }), guard('size', ['5', '6', '7'])],
  ...more,
});
const LIMIT = { setting: 'recompile_limit', value: 8 };
const run = (...functions: CompiledFunction[]) => {
  const { findings, silent } = runRules([rule], {
    ...runOf([]),
    evidence: { ...NO_EVIDENCE, compiled: functions },
  });
  return { finding: findings[0], silent: silent[0]?.reason };
};

describe('recompiles in a log, without a trace', () => {
  it('names function, guard and dimension, and says what to do', () => {
    const { finding } = run(compiled({ limit: LIMIT }));
    expect(finding).toMatchObject({ id: 'recompile-limit', rule: 'T16', speedup: null, ranks: [] });
    const texts = finding!.evidence.map((e) => e.text).join('\n');
    expect(texts).toMatch(
      /forward \(model\.py:33\) was compiled again 5 times, reached recompile_limit \(8\)/,
    );
    expect(texts).toMatch(/the size of dimension 1 of tokens \(5, 6, 7\), in 3 of 5 recompiles/);
    expect(finding!.fix.text).toMatch(
      /In forward, the size of dimension 1 of tokens changes.*[Pp]ad or bucket/,
    );
    expect(finding!.fix.code).toMatch(/mark_dynamic\(tokens, 1\)/);
    expect(finding!.fix.code).toMatch(/recompile_limit = 16/);
  });

  it('is silent about one or two recompiles, and without a log', () => {
    expect(run(compiled({ recompiles: 2 })).silent).toMatch(/only a few recompiles/);
    expect(run().silent).toMatch(/^no torch.compile log/);
  });

  it('tells which ranks', () => {
    const { finding } = run(
      compiled({ rank: 3 }),
      compiled({ rank: 5 }),
      compiled({ rank: 7, recompiles: 0 }),
    );
    expect(finding).toMatchObject({ id: 'recompiles', ranks: [3, 5] });
  });

  it.each(['size', 'value', 'dtype', 'rank', 'grad-mode', 'length', 'object', 'other'] as const)(
    'has advice on a guard of kind %s that fits the terminal',
    (kind) => {
      const long = guard(kind, ['1', '2'], { subject: "a.very.long['name'].of.a.tensor.in.the.model" });
      const { finding } = run(compiled({ guards: [long] }));
      expect(finding!.fix.text.length).toBeGreaterThan(40);
      expect(finding!.fix.code.split('\n').filter((l) => l.length > CODE_COLUMNS)).toEqual([]);
    },
  );

  it('leaves it to the trace, where there is one', () => {
    const view = drawView(
      steps(
        4,
        10100,
        `
      host 1  ProfilerStep#1 0-10100 | cudaLaunchKernel 10-20 #1
      gpu 7   gemm 100-10000 #1`,
      ),
    );
    const evidence = { ...NO_EVIDENCE, compiled: [compiled({ limit: LIMIT })] };
    expect(check(rule, view, { evidence })).toEqual({ silent: 'the trace shows what recompiling costs' });
  });
});
