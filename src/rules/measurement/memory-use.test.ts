import { describe, expect, it } from 'vitest';
import { CODE_COLUMNS, drawView, runOf } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { type MemoryFacts, NO_EVIDENCE } from '../../diagnosis/run-evidence.js';
import { runRules } from '../run-rules.js';
import { rule } from './memory-use.js';

const part = (
  kind: MemoryFacts['at']['parts'][number]['kind'],
  bytes: number,
  at = 'job/model.py:9 in forward',
) => ({
  kind,
  bytes,
  count: 1,
  lines: [{ at, bytes, count: 1 }],
});
const FACTS: MemoryFacts = {
  device: 0,
  events: 10,
  at: { allocated: 1e9, reserved: 2e9, parts: [part('parameters', 1e9)] },
  peak: 1e9,
  oom: null,
  steps: 4,
  growth: [],
  overTime: { seconds: [], reserved: [], kinds: [] },
  expandableSegments: false,
};
const holding = (...parts: MemoryFacts['at']['parts']): MemoryFacts => ({
  ...FACTS,
  at: { ...FACTS.at, parts },
});
const ask = (...facts: MemoryFacts[]) =>
  runRules([rule], {
    ...runOf([], 'unknown'),
    evidence: { ...NO_EVIDENCE, memory: facts.map((f, rank) => ({ rank, facts: f })) },
  });
const ids = (...facts: MemoryFacts[]) => ask(...facts).findings.map((f) => f.id);
const OOM = { asked: 7e8, deviceFree: 1e6, at: 'job/model.py:9 in forward', isFragmented: true };

describe('what holds memory', () => {
  it.each([
    ['nothing that can be freed', FACTS, ['memory-use']],
    ['activations', holding(part('activations', 9e8)), ['memory-activations']],
    ['a few activations', holding(part('activations', 5e7)), ['memory-use']],
    ['optimizer state', holding(part('optimizer state', 4e8)), ['memory-optimizer']],
    ['the loss', holding(part('temporaries', 4e8, 'job/loss.py:3 in forward')), ['memory-logits']],
    ['attention', holding(part('temporaries', 4e8, 'job/attention.py:3 in forward')), ['memory-attention']],
    ['steps', { ...FACTS, growth: [{ at: 'a.py:1 in f', bytesPerStep: 5, steps: 4 }] }, ['memory-growth']],
    ['free pieces', { ...FACTS, oom: OOM }, ['memory-fragmented']],
    ['free pieces that grow already', { ...FACTS, oom: OOM, expandableSegments: true }, ['memory-use']],
    ['too much', { ...FACTS, oom: { ...OOM, isFragmented: false } }, ['memory-use']],
  ])('is named: %s', (_, facts, expected) => {
    expect(ids(facts)).toEqual(expected);
    for (const { fix } of ask(facts).findings)
      expect(fix.code.split('\n').filter((l) => l.length > CODE_COLUMNS)).toEqual([]);
  });

  it('is that of the GPU that ran out, or of the fullest', () => {
    expect(ask(FACTS, { ...FACTS, peak: 2e9 }).findings[0]!.ranks).toEqual([1]);
    expect(ask({ ...FACTS, oom: OOM }, { ...FACTS, peak: 2e9 }).findings[0]!.ranks).toEqual([0]);
  });

  it('says what the fix frees and what it costs', () => {
    expect(ask(holding(part('activations', 9e8))).findings[0]!.fix.text).toMatch(
      /\. They hold 900 MB here\. .* costs one more forward pass/,
    );
  });

  it('prices checkpoints by replaying the step of the rank, if it was traced', () => {
    const step = `
      host 1  ProfilerStep#1 0-40200 | aten::linear 0-30 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 1000-40110
      host 2  autograd::engine::evaluate_function: AddmmBackward0 100-500 | aten::mm 110-140 | cudaLaunchKernel 120-130 #2
      gpu 7   nvjet_tst_256 100-10100 #1 | nvjet_tst_128 10100-40100 #2`;
    const { findings } = runRules([rule], {
      ...runOf([drawView(steps(4, 40200, step), { unprofiledMs: 40.2 })], 'gpu'),
      evidence: { ...NO_EVIDENCE, memory: [{ rank: 0, facts: holding(part('activations', 9e8)) }] },
    });
    expect(findings[0]!.fix.text).toMatch(
      /costs up to 10\.\d ms per step \(40\.2 ms → 50\.\d ms in the replay\); half the micro-batch, accumulated twice, frees half of it and costs little time/,
    );
  });

  it('is silent without a snapshot', () => expect(ask().silent[0]!.reason).toMatch(/no memory snapshot/));
});
