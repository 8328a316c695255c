import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import { scaleWorks } from './edits.js';
import { copyPlan } from './plan.js';
import { busyTime } from './recording-cost.js';
import { AS_RECORDED, replay } from './replay.js';

/** Communication and copies that computation partly covers. */
const facts = analyzeTrace(
  drawTrace(`
    host 1  ProfilerStep#1 0-100 | cudaLaunchKernel 10-12 #1 | cudaLaunchKernel 14-16 #2
    host 1  cudaMemcpyAsync 20-22 #3 | cudaMemcpyAsync 24-26 #4 | cudaMemsetAsync 28-30 #5
    gpu 7   gemm 16-50 #1
    gpu 20  ncclDevKernel_AllReduce 40-60 #2
    gpu 9   Memcpy HtoD (Pinned -> Device) 55-70 #3
    gpu 10  Memcpy DtoH (Device -> Pinned) 65-80 #4 | Memset (Device) 81-90 #5`),
  { steps: null },
)!;
const plan = facts.detail!.plan!;

describe('busy time in a replay', () => {
  it('is divided as in time accounting', () => {
    const busy = busyTime(plan, replay(plan, AS_RECORDED));
    expect(busy).toEqual({ compute: 34e3, comms: 10e3, copy: 29e3, toDevice: 10e3, toHost: 15e3 });
    expect([busy.compute, busy.comms, busy.copy]).toEqual([
      ...[facts.time.compute, facts.time.comms_transfer, facts.time.copy],
    ]);
  });

  it('leaves out work that was removed', () => {
    const without = copyPlan(plan);
    scaleWorks(without, (w) => w === 1, 0);
    expect(busyTime(without, replay(without, AS_RECORDED)).comms).toBe(0);
  });
});
