import { describe, expect, it } from 'vitest';
import { drawTrace, inTurn } from '../../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../analyze-trace.js';

/** 8 ms of computing, which the host waits for, then Python until the step ends. */
const step = (ms: number, waits = '') => `
  host 1  ProfilerStep#1 0-${ms * 1000} | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-8050${waits}
  gpu 7   nvjet_tst_256 30-8030 #1`;
const trace = (lengths: readonly number[], waits?: (ms: number) => string) =>
  drawTrace(inTurn(...lengths.map((ms) => [step(ms, waits?.(ms)), ms * 1000] as const)));
const factsOf = (lengths: readonly number[], waits?: (ms: number) => string) =>
  analyzeTrace(trace(lengths, waits), { steps: null })!;

/** The host pauses in the fourth of ten steps. The device notices in the fifth. */
const SPIKE = [10, 10, 10, 110, 10, 10, 10, 10, 10, 10];

describe('a step that takes far longer, once', () => {
  it('a single step that takes far longer is left out: all figures are over the longest run without it', () => {
    const { oneOff, steps, time, detail } = factsOf(SPIKE);
    expect(oneOff).toMatchObject({
      index: 5,
      dur: 110e6,
      usual: 10e6,
      others: 9,
      without: { first: 6, last: 10 },
    });
    expect(steps).toMatchObject({ first: 6, last: 10, irregular: false, recorded: 10e6 });
    expect(time.idle_host).toBeCloseTo(2e6, -5);
    expect(detail!.pauses.count).toBe(0);
  });

  it('counts where steps were asked for', () => {
    const { oneOff, steps } = analyzeTrace(trace(SPIKE), { steps: { first: 1, last: 10 } })!;
    expect([oneOff, steps.count]).toEqual([null, 10]);
    expect(steps.recorded).toBeCloseTo(19.8e6, -5);
  });

  const load = (ms: number) =>
    ms > 10 ? ` | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 8100-${ms * 1000 - 10}` : '';
  it.each([
    ['of a few steps', [10, 10, 60, 10, 10], undefined],
    ['that is not twice as long', [10, 10, 10, 18, 10, 10, 10, 10, 10, 10], undefined],
    ['of two', [10, 10, 10, 110, 10, 10, 110, 10, 10, 10], undefined],
    ['that waits for input', SPIKE, load],
  ])('a step does not count as a single long one: %s', (_, lengths, waits) => {
    const { oneOff, steps } = factsOf(lengths, waits);
    expect(oneOff).toBeNull();
    expect(steps.last).toBe(lengths.length);
  });
});

describe('steps in which the job did something besides training', () => {
  const train = `
    host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 22-24 #2
    host 2  autograd::engine::evaluate_function: MmBackward0 100-200 | cudaLaunchKernel 110-120 #3 | cudaLaunchKernel 130-140 #4
    gpu 7   gemm 30-300 #1 | gemm 300-500 #2 | dgrad 500-700 #3 | wgrad 700-900 #4`;
  const more = (thread: number) =>
    `
    host 1  ProfilerStep#1 0-4000
    host ${thread}  ${[...Array(8).keys()].map((i) => `cudaLaunchKernel ${1000 + 50 * i}-${1010 + 50 * i} #${10 + i}`).join(' | ')}
    gpu 7   ${[...Array(8).keys()].map((i) => `gemm ${1100 + 300 * i}-${1350 + 300 * i} #${10 + i}`).join(' | ')}`;
  const longer = (thread: number) => train.replace('ProfilerStep#1 0-1000 | ', '') + more(thread);
  const analyze = (...parts: readonly (readonly [string, number])[]) =>
    analyzeTrace(drawTrace(inTurn(...parts)), { steps: null })!;
  const [usual, evaluates] = [[train, 1000] as const, [longer(1), 4000] as const];

  it('are left out: an evaluation in one of six steps does not count as the step', () => {
    const { oneOff, steps } = analyze(usual, usual, usual, usual, evaluates, usual);
    expect(oneOff).toMatchObject({ index: 5, others: 5, extraWork: 8 });
    expect(steps.recorded).toBe(1e6);
  });

  it('are training if the additional work is in backward', () => {
    expect(analyze(usual, usual, usual, usual, [longer(2), 4000], usual).oneOff).toBeNull();
  });

  it('are training if every other step is so', () => {
    expect(analyze(usual, evaluates, usual, evaluates, usual, evaluates).oneOff).toBeNull();
  });
});
