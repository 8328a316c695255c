import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS, drawView, runOf } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { share } from '../../base/units.js';
import type { ProcessStacks } from '../../diagnosis/hang/process-stacks.js';
import type { Doing } from '../../diagnosis/hang/stack-state.js';
import { NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import { runRules } from '../run-rules.js';
import { rule } from './stack-dump.js';

const process = (rank: number, doing: Doing, more: Partial<ProcessStacks> = {}): ProcessStacks => ({
  rank,
  pid: 100 + rank,
  kind: 'dump',
  states: [{ doing, call: 'all_reduce', at: 'train.py:12 in step', share: share(1) }],
  samples: 1,
  isActive: false,
  hasMoved: null,
  workers: [],
  ...more,
});
const ask = (stacks: readonly ProcessStacks[], run = runOf([], 'unknown')) => {
  const { findings, silent } = runRules([rule], { ...run, evidence: { ...NO_EVIDENCE, stacks } });
  return { finding: findings[0], silent: silent[0]?.reason };
};

describe('stacks', () => {
  it('name the rank that the others wait for', () => {
    const { finding } = ask([
      process(0, 'collective'),
      process(1, 'lock', { hasMoved: false }),
      process(2, 'collective'),
    ]);
    expect(finding).toMatchObject({
      id: 'rank-elsewhere',
      rule: 'T21',
      ranks: [1],
      addresses: 'host',
      confidence: 0.9,
    });
    expect(finding!.title).toMatch(
      /^rank 1 waits in all_reduce for a lock.* while ranks 0, 2 wait for it in all_reduce$/,
    );
    expect(finding!.evidence[0]!.text).toMatch(/did not move between two dumps: stuck/);
  });

  it.each(['input-wait', 'input-work', 'collective', 'lock', 'receive'] as const)('advise on %s', (doing) => {
    const { finding } = ask([process(0, doing), process(1, doing, { hasMoved: true })]);
    expect(finding).toMatchObject({ id: 'stack-dump', ranks: [0, 1], confidence: 0.6 });
    expect(finding!.title).toMatch(/^each of ranks 0–1 /);
    expect(finding!.fix.code.split('\n').filter((l) => l.length > CODE_COLUMNS)).toEqual([]);
  });

  it('say how many samples, and what workers do', () => {
    const workers = [{ doing: 'input-work', call: 'fetch', at: 'data.py:9 in load' }] as const;
    const { finding } = ask([process(0, 'input-wait', { kind: 'samples', samples: 40, workers })]);
    expect(finding!.evidence.map((e) => e.text)).toEqual([
      'rank 0 waits for a DataLoader worker (train.py:12 in step), 100% of 40 samples',
      'a DataLoader worker is in data.py:9 in load',
    ]);
  });

  it('are silent where they show no wait, and where a trace shows another bottleneck', () => {
    expect(ask([]).silent).toMatch(/no py-spy stacks/);
    expect(ask([process(0, 'other'), process(1, 'gpu')]).silent).toMatch(/show no wait/);
    const drawing = 'host 1  ProfilerStep#1 0-10100 | cudaLaunchKernel 10-20 #1\n gpu 7   gemm 100-10000 #1';
    const run = runOf([drawView(steps(4, 10100, drawing))], 'gpu');
    expect(ask([process(0, 'input-wait')], run).silent).toMatch(/not the bottleneck/);
  });
});
