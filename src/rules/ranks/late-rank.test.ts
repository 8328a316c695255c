import { describe, expect, it } from 'vitest';
import { atPace, drawView, runOf, withAdvice } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { ns, share } from '../../base/units.js';
import type { LogView } from '../../diagnosis/ranks/rank-view.js';
import type { LateRanks } from '../../run/lateness/late-ranks.js';
import { rule } from './late-rank.js';

const STEP = `
  host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 100-110 #1
  gpu 7   nvjet_tst_256 200-49000 #1`;
const views = [0, 1].map((rank) => atPace(drawView(steps(4, 50000, STEP), { rank }), 50));
const late: LateRanks = {
  ranks: [1],
  pattern: 'persistent',
  cause: 'data',
  cost: ns(20e6),
  confidence: 0.9,
  location: null,
  steps: [2, 3, 4],
};
const across = (found: readonly LateRanks[]) => ({
  ...runOf(views),
  across: { late: found, steps: 8, links: [], overlap: null },
});

describe('a late rank', () => {
  it('is reported on that rank, with what it costs all of them', () => {
    const result = rule.check(views[1]!, across([late]));
    if (!('findings' in result)) throw new Error(result.silent);
    expect(result.findings[0]).toMatchObject({ title: 'rank 1 is late in every step', addresses: 'data' });
    expect(result.findings[0]!.price!.speedup.likely).toBeCloseTo(50 / 30, 6);
    expect(result.findings[0]!.evidence[0]).toMatchObject({ value: 20, unit: 'ms/step' });
    expect(withAdvice(rule, result.findings[0]!).fix.code).toBe('whyslow diagnose OUT --ranks 1 --all');
    expect(rule.check(views[0]!, across([late]))).toEqual({ silent: 'no rank stands out' });
    // With fewer steps, two ranks may differ by chance.
    const few = across([late]);
    const inThree = { ...few, across: { ...few.across, steps: 3 } };
    expect(rule.check(views[0]!, inThree)).toEqual({ silent: 'no rank stands out in 3 steps' });
  });

  it('says how to trace it, with the command and the folder of the job, where there is only a log', () => {
    const logs = views.map((view) => ({ ...view, source: 'log' }) as unknown as LogView);
    const job = { command: 'torchrun train.py', folder: "'my runs'", processes: new Map() };
    const result = rule.check(logs[1]!, { ...across([late]), ranks: logs, job });
    if (!('findings' in result)) throw new Error(result.silent);
    expect(withAdvice(rule, result.findings[0]!).fix).toEqual({
      text: 'Fix the cause on rank 1. For details, record a trace of the running job or of the next run.',
      code: "whyslow capture 'my runs' --ranks 1\nwhyslow run --trace-ranks 1 -- torchrun train.py",
    });
  });

  it('sends to the phase of the job in which the rank is late', () => {
    const phase = { name: 'tokenize', time: ns(21e6), usual: ns(0) };
    for (const ranks of [views, views.map((view) => ({ ...view, source: 'log' }) as unknown as LogView)]) {
      const result = rule.check(ranks[1]!, { ...across([{ ...late, cause: 'unknown', phase }]), ranks });
      if (!('findings' in result)) throw new Error(result.silent);
      expect(withAdvice(rule, result.findings[0]!).fix.text).toMatch(
        /^Look at what rank 1 does in the phase tokenize\./,
      );
      expect(result.findings[0]!.evidence[0]!.text).toMatch(/most of it is the phase tokenize \(21\.0 ms/);
    }
  });

  it('a late rank’s predicted gain is what a log shows, up to what the delay may cost', () => {
    const priceOf = (cost: number) => {
      const result = rule.check(views[1]!, across([{ ...late, cost: ns(cost), mayCost: ns(20e6) }]));
      if (!('findings' in result)) throw new Error(result.silent);
      expect(result.findings[0]!.evidence[0]).toMatchObject({ value: 20, unit: 'ms/step' });
      return result.findings[0]!.price;
    };
    const price = priceOf(5e6)!;
    expect(price.speedup.likely).toBeCloseTo(50 / 45, 6);
    expect(price.speedup.high).toBeCloseTo(50 / 26, 6);
    expect(views[1]!.step.unprofiled - price.after).toBeCloseTo(views[1]!.step.unprofiled / 10, 0);
    expect(priceOf(0.4e6)).toBeNull();
  });

  it('names the clock of a slow GPU, and costs hardware then', () => {
    const limit = { by: 'thermal', share: share(0.34) } as const;
    const slowGpu = { clock: 1050.4, usualClock: 1755, limit };
    const result = rule.check(views[1]!, across([{ ...late, cause: 'gpu', slowGpu }]));
    if (!('findings' in result)) throw new Error(result.silent);
    expect(withAdvice(rule, result.findings[0]!)).toMatchObject({ addresses: 'gpu', cost: 'hardware' });
    expect(result.findings[0]!.evidence[1]).toMatchObject({
      text: 'its GPU ran at 1,050 MHz against 1,755 on the others (thermal slowdown 34% of the time)',
      value: 1050,
      unit: 'MHz',
      rank: 1,
    });
  });

  it('does not name all ranks of a host in the command', () => {
    const many = { ...late, ranks: Array.from({ length: 64 }, (_, i) => i + 1), pattern: 'host' as const };
    const result = rule.check(views[1]!, across([many]));
    if (!('findings' in result)) throw new Error(result.silent);
    expect(withAdvice(rule, result.findings[0]!).fix.code).toBe(
      'whyslow diagnose OUT --ranks 1,2,3,4,5,6,7,8 --all',
    );
  });

  it('is silent when a different rank is late each step', () => {
    const rotating = { ...late, ranks: [], pattern: 'rotating' as const };
    expect(rule.check(views[0]!, across([rotating]))).toHaveProperty('silent');
  });

  it('is silent about a single rank', () => {
    expect(rule.check(views[0]!, runOf(views))).toEqual({
      silent: 'one rank only, or ranks that share no collective',
    });
  });
});
