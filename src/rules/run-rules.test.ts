import { describe, expect, it } from 'vitest';
import { drawView, runOf } from '../../test/helpers/draw-run.js';
import { steps } from '../../test/helpers/draw-trace.js';
import { ns } from '../base/units.js';
import type { LogView, RankView } from '../diagnosis/ranks/rank-view.js';
import { lasting } from '../facts/step-facts.js';
import type { FindingId } from '../remedies/kit/finding-ids.js';
import type { Cost } from '../remedies/kit/remedy.js';
import { use } from '../remedies/remedies.js';
import { scaleWorks } from '../replay/edits.js';
import { priceOf } from './kit/price.js';
import type { RankFinding, Rule, TraceRule } from './kit/rule.js';
import { RULES } from './rules.js';
import { runRules } from './run-rules.js';

/** 30 ms of fp32 products and 10 ms of something else, and 60 ms of loading before them. */
const SLOW = `
  host 1  ProfilerStep#1 0-100200 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-60000
  host 1  cudaLaunchKernel 60010-60020 #1 | cudaLaunchKernel 60050-60060 #2 | cudaDeviceSynchronize 60080-100110
  gpu 7   ampere_sgemm_128x64_tn 60100-90100 #1 | vectorized_elementwise_kernel 90100-100100 #2`;
const view = drawView(steps(4, 100200, SLOW));

const gain = (likely: number, from: RankView = view): RankFinding['price'] => ({
  speedup: { low: likely, likely, high: likely },
  after: ns(from.step.unprofiled / likely),
  edit: null,
  floor: ns(0),
});

const PLAIN = RULES[0]!.info;

/** A rule with the given findings on every rank. It counts all of them. */
/** A remedy of each cost. */
const REMEDY = { free: 'tf32', knob: 'loader-persistent', code: 'compile', hardware: 'unthrottle' } as const;

function rule(name: string, cost: Cost, find: (view: RankView) => Partial<RankFinding> | string): TraceRule {
  const id = name as FindingId;
  const plain = { id, title: id, confidence: 0.9, addresses: 'gpu' as const, evidence: [], price: null };
  return {
    reads: 'traces',
    unpriced: 'allowed',
    smallGain: 'allowed',
    info: { ...PLAIN, id, alias: id.toUpperCase(), remedy: REMEDY[cost] },
    check: (v) => {
      const found = find(v);
      return typeof found === 'string' ? { silent: found } : { findings: [{ ...plain, ...found }] };
    },
  };
}
const idsOf = (rules: readonly Rule[], bottleneck: 'gpu' | 'data' | 'compute' = 'gpu') =>
  runRules(rules, runOf([view], bottleneck)).findings.map((f) => f.id);

it('a gain is not stated if the work of the GPU was not recorded', () => {
  const priced = [rule('fix', 'knob', () => ({ price: gain(2) }))];
  const speedupIn = (drawing: string) =>
    runRules(priced, runOf([drawView(steps(4, 100200, drawing))])).findings[0]!.speedup;
  expect(speedupIn(SLOW)?.likely).toBe(2);
  expect(speedupIn(SLOW.replace(/gpu 7.*/, 'host 1  aten::cudnn_convolution 70000-80000'))).toBeNull();
});

describe('a figure that cannot be', () => {
  const withheld = (finding: Partial<RankFinding>) => {
    const { findings, problems } = runRules([rule('odd', 'knob', () => finding)], runOf([view]));
    return [findings.length, ...problems.map((p) => p.code)];
  };

  it('is a gain larger than the time that the fix can shorten: the finding is withheld and reported as our fault', () => {
    const replayed = (likely: number) => ({ ...gain(likely)!, edit: () => {} });
    // 40 of 100 ms compute.
    expect(withheld({ price: replayed(3) })).toEqual([0, 'impossible-figure']);
    expect(withheld({ price: replayed(1.6) })).toEqual([1]);
    expect(withheld({ price: replayed(2.4), addresses: 'data' })).toEqual([1]);
  });

  it('is evidence of more time than a step has', () => {
    const evidence = (value: number) => [
      { text: '', value, unit: 'ms/step', rank: 0, step: null, ts_us: null, dur_us: null },
    ];
    expect(withheld({ evidence: evidence(120) as never })).toEqual([0, 'impossible-figure']);
    expect(withheld({ evidence: evidence(99) as never })).toEqual([1]);
  });
});

describe('traces whose steps differ', () => {
  const short: RankView = { ...view, rank: 1, step: lasting(view.step, view.step.unprofiled / 2) };
  const double = rule('double', 'knob', (v) =>
    v.step.unprofiled === short.step.unprofiled ? { price: gain(2) } : 'nothing',
  );

  it('are not given the gains of each other', () => {
    expect(runRules([double], runOf([view, short])).findings).toEqual([]);
    expect(runRules([double], runOf([short])).findings).toHaveLength(1);
  });
});

describe('a job that does more than train', () => {
  /** As much time between training steps as in them. */
  const between = view.step.unprofiled;
  const phase = {
    name: 'checkpoint',
    count: 50,
    longest: null,
    recurs: true,
    own: false,
    call: null,
    line: null,
  };
  const job = { wall: between, startUp: ns(0), training: ns(0), end: ns(0), steps: 100, iteration: null };
  const half: RankView = {
    ...view,
    step: { ...view.step, whole: ns(view.step.unprofiled + between) },
    job: { ...job, phases: [{ ...phase, ns: ns(100 * between) }] },
  };
  const run = (...rules: Rule[]) => runRules(rules, runOf([half]));

  it('a job with time between steps gains less from faster steps', () => {
    const { findings } = run(rule('double', 'knob', () => ({ price: gain(2) })));
    expect(findings[0]).toMatchObject({ speedup: { likely: 1.333 } });
    expect(findings[0]!.saving_ms).toBeCloseTo(between / 2e6, 3);
  });

  it('is not promised a gain that hardly shows', () => {
    const { smallGain: _, ...small } = rule('small', 'knob', () => ({ price: gain(1.05) }));
    const { findings, silent } = run(small);
    expect(findings).toEqual([]);
    expect(silent[0]!.reason).toMatch(/is spent between training steps/);
  });

  it('a fix of the time between steps saves it in addition', () => {
    const price = { speedup: { low: 1.5, likely: 2, high: 2 }, after: between, between: true } as const;
    const { findings } = run(
      rule('double', 'knob', () => ({ price: gain(2) })),
      rule('never-save', 'knob', () => ({ price: { ...price, edit: null, floor: ns(0) } })),
    );
    const saved = new Map(findings.map((f) => [f.id, f.saving_ms!]));
    expect(saved.get('never-save')).toBeCloseTo(between / 1e6, 3);
    expect(saved.get('double')).toBeCloseTo(between / 2e6, 3);
  });
});

describe('the order to try fixes in', () => {
  const advice = rule('advice', 'free', () => ({ addresses: null }));
  const elsewhere = rule('elsewhere', 'free', () => ({ addresses: 'data', price: gain(1.6) }));
  const unpriced = rule('unpriced', 'free', () => ({}));
  const dear = rule('dear', 'code', () => ({ price: gain(5) }));
  const small = rule('small', 'knob', () => ({ price: gain(1.1) }));
  const large = rule('large', 'knob', () => ({ price: gain(2) }));
  const flag = rule('flag', 'code', () => ({ price: gain(1.05), remedy: use('tf32') }));

  it('is: the largest gain first, whatever it addresses; unknown gains after known ones; advice last', () => {
    const ids = ['dear', 'large', 'elsewhere', 'small', 'flag', 'unpriced', 'advice'];
    const rules = [advice, elsewhere, unpriced, dear, small, large, flag];
    expect(idsOf(rules)).toEqual(ids);
    expect(idsOf(rules.toReversed())).toEqual(ids);
  });

  it('puts the cheaper of two fixes first that save about as much: 75 of 89% of the step, not 60', () => {
    const nine = rule('nine', 'code', () => ({ price: gain(9) }));
    const free = (likely: number) => rule('free', 'free', () => ({ price: gain(likely) }));
    expect(idsOf([nine, free(4)])).toEqual(['free', 'nine']);
    expect(idsOf([nine, free(2.5)])).toEqual(['nine', 'free']);
  });

  const step = (likely: number) => rule('step', 'code', () => ({ price: gain(likely) }));
  const further: Rule = {
    ...rule('further', 'code', () => ({ price: gain(6), inShort: 'CUDA graphs' })),
    furtherThan: 'step' as FindingId,
  };

  it('makes a fix and what extends it one finding, in the place of the better of the two', () => {
    const other = rule('other', 'code', () => ({ price: gain(1.5) }));
    expect(idsOf([further, other, step(1.1), unpriced])).toEqual(['step', 'other', 'unpriced']);
    expect(idsOf([other, step(1.1)])).toEqual(['other', 'step']);
    expect(idsOf([other, further])).toEqual(['further', 'other']);
  });

  it('names the larger fix as a second level, with the gain of both', () => {
    const [found] = runRules([further, step(1.1)], runOf([view], 'gpu')).findings;
    expect(found).toMatchObject({ id: 'step', speedup: { likely: 1.1 } });
    expect(found!.further).toMatchObject({ id: 'further', title: 'CUDA graphs', speedup: { likely: 6 } });
    expect(found!.further!.saving_ms).toBeGreaterThan(found!.saving_ms!);
    expect(runRules([step(1.1)], runOf([view], 'gpu')).findings[0]!.further).toBeNull();
  });

  it('begins with a late rank, unless that costs little', () => {
    const late = (likely: number): Rule => ({
      ...rule('late', 'code', () => ({ addresses: 'data', price: gain(likely) })),
      comesFirst: true,
    });
    expect(idsOf([dear, late(1.2)])).toEqual(['late', 'dear']);
    expect(idsOf([dear, late(1.03)])).toEqual(['dear', 'late']);
  });

  it('weights gains by confidence', () => {
    const unsure = rule('unsure', 'code', () => ({ price: gain(5), confidence: 0.3 }));
    expect(idsOf([unsure, large])).toEqual(['large', 'unsure']);
  });

  it('puts what the job can change before what other processes do to it, whatever that costs', () => {
    const outside = rule('outside', 'free', () => ({ price: gain(5), confidence: 0.5, outside: true }));
    expect(idsOf([outside, small, flag, unpriced, advice])).toEqual([
      'small',
      'flag',
      'unpriced',
      'outside',
      'advice',
    ]);
  });

  it('follows the verdict among fixes that gain about as much', () => {
    expect(idsOf([large, elsewhere], 'data')).toEqual(['elsewhere', 'large']);
    expect(idsOf([elsewhere, large], 'compute')).toEqual(['large', 'elsewhere']);
  });
});

describe('several ranks', () => {
  it('counts two traces of one rank as one', () => {
    const { findings } = runRules([rule('x', 'free', () => ({}))], runOf([view, view], 'gpu'));
    expect(findings.map((f) => f.ranks)).toEqual([[view.rank]]);
  });

  const ranks = [0, 1, 2].map((rank) => drawView(steps(4, 100200, SLOW), { rank }));

  it('share one finding, represented by the rank that gains most', () => {
    const mixed = rule('mixed', 'knob', (v) => ({
      title: `rank ${v.rank}`,
      price: gain([1.2, 3, 2][v.rank]!),
    }));
    const { findings } = runRules([mixed], runOf(ranks));
    expect(findings).toMatchObject([{ title: 'rank 1', ranks: [0, 1, 2], speedup: { likely: 3 } }]);
  });

  it('are listed only where it was found', () => {
    const odd = rule('odd', 'knob', (v) => (v.rank === 1 ? {} : 'not here'));
    expect(runRules([odd], runOf(ranks))).toMatchObject({ findings: [{ ranks: [1] }], silent: [] });
  });
});

describe('rules that find nothing', () => {
  it('give one reason', () => {
    const quiet = rule('quiet', 'knob', () => 'nothing to see');
    const result = runRules([quiet], runOf([view, view]));
    expect(result).toMatchObject({ findings: [], silent: [{ rule: 'QUIET', reason: 'nothing to see' }] });
  });

  it('give one reason for all that share an alias, and none if one of them found something', () => {
    const part = (id: string, find: () => Partial<RankFinding> | string): Rule => {
      const plain = rule(id, 'knob', find);
      return { ...plain, info: { ...plain.info, alias: 'T23' } };
    };
    const silentOf = (...rules: Rule[]) => runRules(rules, runOf([view])).silent;
    const [reads, shapes, again] = ['no reads', 'no shapes', 'no reads'].map((reason, i) =>
      part(`rule-${i}`, () => reason),
    );
    expect(silentOf(reads!, shapes!, again!)).toEqual([{ rule: 'T23', reason: 'no reads; no shapes' }]);
    expect(
      silentOf(
        reads!,
        part('found', () => ({})),
      ),
    ).toEqual([]);
  });

  it('are named by id where they have no alias', () => {
    const plain = rule('fresh', 'knob', () => 'nothing');
    const fresh = { ...plain, info: { ...plain.info, alias: null } };
    expect(runRules([fresh], runOf([view])).silent).toEqual([{ rule: 'fresh', reason: 'nothing' }]);
  });

  it('fail without sinking the others', () => {
    const broken = rule('broken', 'knob', () => {
      throw new Error('off by one');
    });
    const result = runRules([broken, rule('fine', 'knob', () => ({}))], runOf([view]));
    expect(result.findings.map((f) => f.id)).toEqual(['fine']);
    expect(result.problems).toMatchObject([{ code: 'rule-failed', count: 1 }]);
    expect(result.problems[0]!.message).toMatch(/broken failed: off by one/);
  });
});

describe('findings that do not count', () => {
  const strict = (price: RankFinding['price']): Rule => {
    const { reads, info, check } = rule('strict', 'knob', () => ({ price }));
    return { reads, info, check };
  };
  const asked = (tested: Rule) => runRules([tested], runOf([view]));

  it('have no price, unless the rule allows it', () => {
    expect(asked(strict(null)).silent[0]!.reason).toMatch(/gain is not known/);
    expect(asked({ ...strict(null), unpriced: 'allowed' }).findings).toHaveLength(1);
  });

  it('have a small gain, unless the rule allows it', () => {
    expect(asked(strict(gain(1.02))).silent[0]!.reason).toMatch(/would not get shorter/);
    expect(asked(strict(gain(1.03))).findings).toHaveLength(1);
    expect(asked({ ...strict(gain(1.02)), smallGain: 'allowed' }).findings).toHaveLength(1);
  });
});

it('does not call absent what a log cannot show', () => {
  const log = { ...view, source: 'log' } as unknown as LogView;
  const ofTraces = rule('traces', 'knob', () => 'no convolutions');
  const ofLogs = { ...rule('logs', 'knob', () => 'no waits'), reads: 'traces and logs' } as const;
  const reasonsFor = (v: RankView) => runRules([ofTraces, ofLogs], runOf([v])).silent.map((s) => s.reason);
  expect(reasonsFor(view)).toEqual(['no convolutions', 'no waits']);
  expect(reasonsFor(log)).toEqual(['needs a trace', 'no waits']);
});

describe('savings', () => {
  /** The products take half, or a third, of their time. */
  const faster = (id: string, factor: number) =>
    rule(id, 'knob', (v) => ({
      price: priceOf(v, (plan) => scaleWorks(plan, (w) => plan.works.duration[w]! > 20e6, factor)),
    }));

  it('of one fix match its speedup', () => {
    const [found] = runRules([faster('half', 0.5)], runOf([view])).findings;
    expect(found!.saving_ms).toBeCloseTo(15, 1);
    expect(found!.saving_ms!).toBeCloseTo((view.step.unprofiled / 1e6) * (1 - 1 / found!.speedup!.likely), 0);
  });

  it('of a second fix are what it adds to the first', () => {
    const { findings } = runRules([faster('half', 0.5), faster('nothing', 0)], runOf([view]));
    expect(findings.map((f) => f.id)).toEqual(['nothing', 'half']);
    expect(findings.map((f) => Math.round(f.saving_ms!))).toEqual([30, 0]);
    expect(findings[1]!.speedup!.likely).toBeGreaterThan(1.15);
  });

  it.each([
    ['input and products', view],
    ['launches', drawView(steps(4, 20000, LAUNCHES()))],
  ])('of all rules together are no more than the step: %s', (_, v) => {
    const { findings, problems } = runRules(RULES, runOf([v], 'data'));
    const saved = findings.reduce((ms, f) => ms + (f.saving_ms ?? 0), 0);
    expect(problems).toEqual([]);
    expect(findings.filter((f) => f.saving_ms !== null).length).toBeGreaterThan(1);
    expect(saved).toBeGreaterThan(0);
    expect(saved).toBeLessThan(v.step.unprofiled / 1e6);
    expect(findings.every((f) => f.speedup === null || f.speedup.low <= f.speedup.high)).toBe(true);
  });
});

function LAUNCHES(): string {
  return `
    host 1  ProfilerStep#1 0-20000 | aten::relu 0-90 x100@100 | cudaLaunchKernel 50-60 #1 x100@100
    host 1  Optimizer.step#AdamW.step 10000-19990 | aten::mul_ 10000-10090 x95@100 | cudaLaunchKernel 10050-10060 #201 x95@100
    host 1  aten::item 19800-19980 | cudaMemcpyAsync 19850-19854 #400 | cudaStreamSynchronize 19860-19970
    gpu 7   relu_elementwise 65-70 #1 x100@100 | mul_elementwise 10065-10070 #201 x95@100
    gpu 7   Memcpy DtoH (Device -> Pageable) 19860-19862 #400 bytes=4`;
}
