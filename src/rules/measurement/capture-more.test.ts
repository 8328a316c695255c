import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { ns } from '../../base/units.js';
import type { Accelerator } from '../../facts/accelerator.js';
import { rule } from './capture-more.js';

const STEP = `
  host 1  ProfilerStep#1 0-10000 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-9990
  gpu 7   nvjet_tst_256 30-9980 #1`;
const EXPECTED = { id: 'capture-more', addresses: null, unit: null, placed: false } as const;
const UNSURE = { bottleneck: 'gpu', confidence: 0.55 } as const;

describe('capture more', () => {
  it.each([
    ['no steps are marked', steps(4, 10000, STEP.replace('ProfilerStep#1', 'train'))],
    ['only one whole step', STEP],
    [
      'no host events',
      steps(4, 10000, STEP.replace(/host 1.*/g, '').replaceAll('nvjet_tst_256', 'at::native::gemm')),
    ],
  ])('says what is missing: %s', (missing, drawing) => {
    const found = fires(rule, drawView(drawing), EXPECTED, { verdict: UNSURE });
    expect(found.evidence[0]!.text).toMatch(missing);
    expect(found.price).toBeNull();
  });

  it('asks for more when no answer can be given', () => {
    const verdict = { bottleneck: 'unknown', confidence: 0.4 } as const;
    const found = fires(rule, drawView(steps(4, 10000, STEP)), EXPECTED, { verdict });
    expect(found.evidence[0]!.text).toMatch(/the verdict says why/);
  });

  const recordedAs = (drawing: string, more: Partial<Accelerator>) => {
    const view = drawView(drawing);
    const accelerator = { ...view.facts.accelerator, ...more };
    return { ...view, facts: { ...view.facts, accelerator } };
  };

  it('asks for NVTX ranges in a recording of nsys', () => {
    const view = recordedAs(steps(4, 10000, STEP.replace('ProfilerStep#1', 'train')), { byNsys: true });
    const found = fires(rule, view, EXPECTED, { verdict: UNSURE });
    expect(found.evidence[0]!.text).toMatch(/torch\.cuda\.nvtx\.range/);
    expect(found.evidence[0]!.text).not.toMatch(/profiler\.step/);
  });

  it('is silent about a device whose events are not understood', () => {
    const view = recordedAs(STEP, { kind: 'npu', unread: 9 });
    expect(silence(rule, view, { verdict: UNSURE })).toMatch(/not understood/);
  });

  it('names the usual candidates of a busy GPU where only phases are known, and promises no gain', () => {
    const log = loggedView({ compute: 10 });
    const found = fires(rule, log, EXPECTED, { verdict: { bottleneck: 'gpu', confidence: 0.9 } });
    expect(found.fix!.text).toMatch(/--shapes.*TF32, torch\.compile.*whyslow try/);
    expect(found.price).toBeNull();
    const waits = fires(rule, log, EXPECTED, { verdict: { bottleneck: 'data', confidence: 0.9 } });
    expect(waits.fix!.text).not.toMatch(/candidates/);
  });

  it('gives one command, that of the job', () => {
    const job = { command: 'torchrun --nproc-per-node 2 train.py', folder: 'OUT', processes: new Map() };
    const found = fires(rule, drawView(STEP), EXPECTED, { verdict: UNSURE, job });
    expect(found.fix!.code).toBe('whyslow run --trace -- torchrun --nproc-per-node 2 train.py');
  });

  it('asks a job that was too short for a window to run longer', () => {
    const job = { wall: ns(9), startUp: ns(0), training: ns(9), end: ns(0), iteration: null, phases: [] };
    const textOf = (count: number) =>
      fires(rule, { ...drawView(STEP), job: { ...job, steps: count } }, EXPECTED, { verdict: UNSURE }).fix!
        .text;
    expect(textOf(5)).toMatch(/at least 30 steps/);
    expect(textOf(26)).not.toMatch(/at least 30 steps/);
  });

  it.each([
    ['nothing is missing', steps(4, 10000, STEP), UNSURE],
    ['the answer is sure all the same', STEP, { bottleneck: 'gpu', confidence: 0.9 } as const],
  ])('is silent when %s', (_, drawing, verdict) => {
    expect(silence(rule, drawView(drawing), { verdict })).toMatch(/evidence is conclusive/);
  });
});
