import { describe, expect, it } from 'vitest';
import { cpuTime } from '../../test/helpers/cpu-time.js';
import { drawView, runOf } from '../../test/helpers/draw-run.js';
import { steps } from '../../test/helpers/draw-trace.js';
import { ns } from '../base/units.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import { lasting } from '../facts/step-facts.js';
import type { FindingId } from '../remedies/kit/finding-ids.js';
import { advise, use } from '../remedies/remedies.js';
import { scaleWorks } from '../replay/edits.js';
import type { Price, RankFinding, TraceRule } from './kit/rule.js';
import { runRules } from './run-rules.js';

/** Steps of 10 ms, measured without the profiler: 8 ms of products, then 2 ms of something else. */
const view = drawView(
  steps(
    8,
    10_000,
    `host 1  ProfilerStep#1 0-10000 | cudaLaunchKernel 0-1 #1 | cudaLaunchKernel 2-3 #2 | cudaDeviceSynchronize 4-9999
     gpu 7   ampere_sgemm_128x64_tn 2-8000 #1 | vectorized_elementwise_kernel 8000-9998 #2`,
  ),
  { unprofiledMs: 10 },
);
const { fix: FIX } = advise(use('loader-persistent'));
const EVIDENCE = { text: 'seen', value: 1, unit: 'ms', rank: 0, step: null, ts_ns: null, dur_ns: null };

function rule(id: string, found: Partial<RankFinding>, info: Partial<TraceRule['info']> = {}): TraceRule {
  const plain = {
    id,
    title: id,
    confidence: 0.9,
    addresses: 'gpu',
    evidence: [EVIDENCE],
    price: null,
  } as const;
  return {
    reads: 'traces',
    unpriced: 'allowed',
    info: { id, alias: id.toUpperCase(), title: id, remedy: 'loader-persistent', ...info },
    check: () => ({ findings: [{ ...plain, ...found }] }),
  } as unknown as TraceRule;
}
const found = (rules: readonly TraceRule[], views: readonly RankView[] = [view]) =>
  runRules(rules, runOf(views)).findings;
const priced = (likely: number, more: Partial<Price> = {}): Price => ({
  speedup: { low: likely / 2, likely, high: likely * 2 },
  after: ns(view.step.unprofiled / likely),
  edit: null,
  floor: ns(0),
  ...more,
});
/** An edit of the plan: products take a part of their time. */
const products = (factor: number): Price => ({
  ...priced(2),
  edit: (plan) => void scaleWorks(plan, (w) => plan.works.duration[w]! > 3e6, factor),
});

describe('a finding', () => {
  it('has what the rule says of itself, unless it says otherwise', () => {
    expect(found([rule('x', {})])).toEqual([
      {
        id: 'x',
        rule: 'X',
        title: 'x',
        confidence: 0.9,
        ranks: [0],
        cost: 'knob',
        risk: 'memory',
        evidence: [EVIDENCE],
        fix: FIX,
        further: null,
        addresses: 'gpu',
        speedup: null,
        saving_ms: null,
      },
    ]);
    const own = rule('x', { remedy: use('unthrottle'), note: ' And more.' });
    const { fix } = advise(use('unthrottle'));
    expect(found([own])).toMatchObject([
      { cost: 'hardware', risk: 'none', fix: { text: `${fix.text} And more.`, code: fix.code } },
    ]);
  });

  it('has speedups with three digits, and a saving in ms', () => {
    const [only] = found([rule('x', { price: priced(1.23456) })]);
    expect(only!.speedup).toEqual({ low: 0.617, likely: 1.235, high: 2.469 });
    expect(only!.saving_ms).toBe(1.9);
  });

  it('speaks for the first of two ranks that gain as much', () => {
    const other = { ...view, rank: 1 };
    const [both] = found(
      [
        {
          ...rule('x', {}),
          check: (v) => rule('x', { title: `${v.rank}`, price: priced(2) }).check(v, runOf([])),
        },
      ],
      [view, other],
    );
    expect(both).toMatchObject({ title: '0', ranks: [0, 1] });
  });
});

describe('a late rank', () => {
  const late = (price: Price | null): TraceRule => ({
    ...rule('w1', { addresses: 'data', price }),
    comesFirst: true,
  });
  const order = (price: Price | null) =>
    found([rule('gpu', { price: priced(3) }), late(price)]).map((f) => f.id);

  it('comes first from a gain of 5% on, and where its price is not known', () => {
    expect(order(priced(1.05))).toEqual(['w1', 'gpu']);
    expect(order(priced(1.04))).toEqual(['gpu', 'w1']);
    expect(order(null)).toEqual(['w1', 'gpu']);
  });
});

describe('advice on the measurement', () => {
  it('comes after fixes of something else', () => {
    const ids = found([
      rule('advice', { addresses: null, price: priced(9) }),
      rule('elsewhere', { addresses: 'data' }),
      rule('here', {}),
    ]).map((f) => f.id);
    expect(ids).toEqual(['here', 'elsewhere', 'advice']);
  });
});

describe('savings', () => {
  it('of edits are what playing them together adds: 4 ms, then 2 of the 4 ms that are left', () => {
    const both = found([
      rule('first', { price: products(0.5) }, { cost: 'free' }),
      rule('second', { price: products(0.5) }),
    ]);
    expect(both.map((f) => Math.round(10 * f.saving_ms!) / 10)).toEqual([4, 2]);
  });

  it('end where a fix says that something else takes as long', () => {
    const both = found([
      rule('first', { price: { ...products(0.5), floor: ns(7e6) } }, { cost: 'free' }),
      rule('second', { price: products(0.25) }),
    ]);
    expect(both.map((f) => Math.round(10 * f.saving_ms!) / 10)).toEqual([3, 0]);
  });

  it('of what cannot be played are its own, and are never won twice', () => {
    const one = { remedy: 'tf32' } as const;
    expect(
      found([rule('first', { price: priced(2) }, one), rule('second', { price: priced(2.5) })]).map(
        (f) => f.saving_ms,
      ),
    ).toEqual([5, 1]);
  });

  it('on several ranks are no more than the step they share', () => {
    const other = { ...view, rank: 1 };
    const onRank = (name: string, rank: number, id = name as FindingId) => ({
      ...rule(id, {}),
      check: (v: RankView) =>
        v.rank === rank
          ? {
              findings: [
                { id, title: id, confidence: 1, addresses: 'gpu' as const, evidence: [], price: priced(10) },
              ],
            }
          : { silent: 'not here' },
    });
    const both = found([onRank('a', 0), onRank('b', 1)], [view, other]);
    expect(both.map((f) => f.saving_ms)).toEqual([9, 1]);
  });
});

describe('a step in which no time passes', () => {
  it('is not looked at', () => {
    const { findings, silent } = runRules([rule('x', {})], runOf([{ ...view, step: lasting(view.step, 0) }]));
    expect(findings).toEqual([]);
    expect(silent).toHaveLength(1);
  });
});

it('rules that were never asked say nothing', () => {
  expect(runRules([rule('x', {})], runOf([]))).toEqual({ findings: [], silent: [], problems: [] });
});

it('joins a finding of very many ranks in little time', () => {
  const views = Array.from({ length: 20_000 }, (_, rank) => ({ ...view, rank }));
  const run = runOf(views);
  const from = cpuTime();
  const { findings } = runRules([rule('x', {})], run);
  expect(cpuTime() - from).toBeLessThan(3000);
  expect(findings.map((f) => f.ranks.length)).toEqual([20_000]);
});
