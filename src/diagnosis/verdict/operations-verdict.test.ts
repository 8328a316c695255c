import { describe, expect, it } from 'vitest';
import type { WhatIf } from '../../operations/what-if.js';
import { operationsAnswer } from './operations-verdict.js';

/** 20 s per step instead of 10 s; one worker explains 60% of that. */
const JOB = {
  actual_s: 20,
  ideal_s: 10,
  slowdown: 2,
  m_w: 0.6,
  m_s: 0.2,
  withoutSlowestWorkers_s: 14,
  withoutLastStage_s: 18,
  slowestWorkers: [{ dpRank: 1, stage: 2, rank: 6, slowdown: 1.5 }],
  byKind: [{ of: 'forward-compute', slowdown: 1.8 }],
  perStep: [],
} as unknown as WhatIf;
const answer = (more: Partial<WhatIf>) => operationsAnswer({ ...JOB, ...more });

describe('a job as a table of operations', () => {
  it('names the slow workers, what they cost and how much of it they explain', () => {
    const { verdict, straggler } = answer({});
    expect(verdict).toMatchObject({
      bottleneck: 'gpu',
      cause: 'slow-workers',
      confidence: 0.8,
      second: null,
    });
    for (const figure of ['50%', '20.00 s', '10.00 s', '60%', 'dp 1', 'stage 2'])
      expect(verdict.sentence).toContain(figure);
    expect(straggler).toEqual({
      ranks: [6],
      pattern: 'persistent',
      cause: 'gpu',
      cost_s: 6,
      confidence: 0.8,
    });
  });

  it('names at most three workers, and leaves out ranks that the table does not know', () => {
    const slowestWorkers = [0, 1, 2, 3].map((dpRank) => ({
      dpRank,
      stage: 0,
      rank: dpRank - 1,
      slowdown: 1,
    }));
    const { verdict, straggler } = answer({ slowestWorkers });
    expect(verdict.sentence).toContain('4 workers');
    expect(verdict.sentence).toContain('dp 2');
    expect(verdict.sentence).not.toContain('dp 3');
    expect(straggler!.ranks).toEqual([0, 1, 2]);
  });

  it('blames workers that explain half of the slowdown', () => {
    expect(answer({ m_w: 0.51 }).verdict.cause).toBe('slow-workers');
    expect(answer({ m_w: 0.49 }).verdict.cause).not.toBe('slow-workers');
    expect(answer({ m_w: null }).verdict.cause).not.toBe('slow-workers');
  });

  it('blames the last stage where that explains half, and workers do not', () => {
    const stage = answer({ m_w: 0.3, m_s: 0.51 });
    expect(stage.verdict).toMatchObject({ cause: 'stage-imbalance' });
    expect(stage.verdict.sentence).toContain('51%');
    expect(stage.straggler).toMatchObject({ ranks: [], pattern: 'stage', cost_s: 2 });
    expect(answer({ m_s: 0.9 }).verdict.cause).toBe('slow-workers');
    expect(answer({ m_w: 0.3, m_s: 0.49 })).toMatchObject({
      straggler: null,
      verdict: { cause: 'slow-forward-compute', bottleneck: 'gpu' },
    });
  });

  it('says where to look, and how to see why', () => {
    expect(answer({}).verdict.next).toEqual([
      expect.stringContaining('look at the GPU and the host of that worker'),
      'to see why, record event logs and a trace: whyslow run --trace-ranks 6 -- python train.py',
    ]);
    expect(answer({ m_w: 0.3, m_s: 0.51 }).verdict.next[0]).toContain('the last stage fewer layers');
    expect(answer({ m_w: 0.3, m_s: 0.49 }).verdict.next).toEqual([
      'to see why, record event logs and a trace: whyslow run -- python train.py',
    ]);
  });

  it('does not explain more than all of it', () => {
    expect(answer({ m_w: 1.2 }).verdict.sentence).toContain('100%');
  });

  it('is bound by communication where the slow operations are transfers', () => {
    const slow = answer({
      byKind: [{ of: 'grads-reduce-scatter', slowdown: 1.8 }] as unknown as WhatIf['byKind'],
    });
    expect(slow.verdict.bottleneck).toBe('comms');
    expect(slow.straggler!.cause).toBe('unknown');
    expect(answer({ byKind: [], m_w: null, m_s: null }).verdict.cause).toBe('slow-operations');
  });

  it('has no stragglers below a slowdown of 5%', () => {
    expect(answer({ slowdown: 1.06 }).straggler).not.toBeNull();
    const even = answer({
      slowdown: 1.04,
      byKind: [{ of: 'grads-reduce-scatter', slowdown: 1 }] as unknown as WhatIf['byKind'],
    });
    expect(even).toMatchObject({
      straggler: null,
      verdict: { bottleneck: 'gpu', cause: 'no-stragglers', confidence: 0.7 },
    });
    for (const figure of ['20.00 s', '10.00 s']) expect(even.verdict.sentence).toContain(figure);
  });
});

it.each([
  ['forward-compute', 'gpu'],
  ['optimizer', 'gpu'],
  ['forward-pp-comm', 'comms'],
  ['backward-pp-comm', 'comms'],
  ['grads-reduce-scatter', 'comms'],
])('slow %s is %s', (of, bottleneck) => {
  const slow = answer({ byKind: [{ of, slowdown: 1.8 }] as unknown as WhatIf['byKind'] });
  expect(slow.verdict.bottleneck).toBe(bottleneck);
});
