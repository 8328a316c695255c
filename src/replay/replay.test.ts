import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import { scaleWorks } from './edits.js';
import { copyPlan } from './plan.js';
import { AS_RECORDED, replay, replaySteady } from './replay.js';

/**
 * The host takes 60 µs per step for two kernels of 49 µs. The first step finds 1 ms of earlier work queued, behind which the
 * host is hidden for all four steps.
 */
function backlog() {
  const host: string[] = ['cudaLaunchKernel 0-3 #100'];
  const gpu: string[] = ['gemm 5-1099 #100'];
  for (let step = 0; step < 4; step++) {
    const at = 100 + step * 60;
    host.push(`ProfilerStep#${step + 1} ${at}-${at + 60}`);
    for (let k = 0; k < 2; k++) {
      const id = step * 2 + k + 1;
      host.push(`cudaLaunchKernel ${at + 10 + k * 30}-${at + 13 + k * 30} #${id}`);
      gpu.push(`gemm ${1100 + (id - 1) * 50}-${1149 + (id - 1) * 50} #${id}`);
    }
  }
  const trace = drawTrace(`host 1  ${host.join(' | ')}\ngpu 7  ${gpu.join(' | ')}`);
  return analyzeTrace(trace, { steps: null })!.detail!.plan!;
}

describe('the steady state', () => {
  it('of a GPU-bound loop is what was recorded', () => {
    const plan = backlog();
    expect(replay(plan, AS_RECORDED).step).toBe(100_000);
    expect(replaySteady(plan, AS_RECORDED).step).toBe(100_000);
  });

  it('shows the host once the GPU is faster, although the recorded queue hides it', () => {
    const plan = copyPlan(backlog());
    scaleWorks(plan, () => true, 0.2);
    // Two kernels of 9.8 µs, 1 µs apart; but the host still takes 60 µs.
    expect(replay(plan, AS_RECORDED).step).toBeCloseTo(21_600, 0);
    expect(replaySteady(plan, AS_RECORDED).step).toBeCloseTo(60_000, 0);
  });

  it('waits in a later pass for what was launched in the pass before', () => {
    const plan = copyPlan(backlog());
    // The first call finds the queue full until the last work launched before it has ended.
    plan.nodes.waitsFor[0] = -2;
    const calls = (played: { hostEnd: number }) => played.hostEnd;
    const once = replay(plan, AS_RECORDED, {
      now: 0,
      busyUntil: new Float64Array(1),
      earlierEnds: new Float64Array(),
    });
    const blocked = replay(plan, AS_RECORDED, {
      now: 0,
      busyUntil: new Float64Array(1),
      earlierEnds: Float64Array.of(400_000, 500_000),
    });
    // It returns at 500 µs instead of 13 µs.
    expect(calls(blocked) - calls(once)).toBe(487_000);
  });
});
