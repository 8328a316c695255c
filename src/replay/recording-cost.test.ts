import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../traces/analyze-trace.js';
import { countedSteps } from './plan.js';
import { baselineOf, costOfEvents, costOnCpu, recordingOf } from './recording-cost.js';
import { AS_RECORDED, replay } from './replay.js';

const STEPS = 4;
const LAUNCHES = 10;
/** An operator every 20 µs launches one kernel (two recorded events each), so the host takes 200 µs per step. */
function loop(kernelUs: number, more: (at: number) => string = () => '', kernel = 'k') {
  const host: string[] = [];
  const gpu: string[] = [];
  let free = 0;
  for (let i = 0; i < STEPS * LAUNCHES; i++) {
    const at = i * 20;
    if (i % LAUNCHES === 0) host.push(`ProfilerStep#${i / LAUNCHES + 1} ${at}-${at + 200}`);
    host.push(`aten::add ${at + 5}-${at + 20} | cudaLaunchKernel ${at + 10}-${at + 16} #${i + 1}${more(at)}`);
    const start = Math.max(at + 15, free + 1);
    free = start + kernelUs;
    gpu.push(`${kernel} ${start}-${free} #${i + 1}`);
  }
  const trace = drawTrace(`host 1  ${host.join(' | ')}\ngpu 7  ${gpu.join(' | ')}`);
  const facts = analyzeTrace(trace, { steps: null })!;
  return { plan: facts.detail!.plan!, recorded: facts.steps.recorded };
}
/** Of each operator's 20 µs of host time up to 2 × 10 µs are op-dense: two events. */
const cost = (share: number) => ({ ...AS_RECORDED, share, densePerEvent: 10_000 });

describe('without the profiler', () => {
  it("a host-bound step is shorter by the profiler's part of its host time", () => {
    const { plan, recorded } = loop(2);
    expect(recorded).toBe(200_000);
    expect(replay(plan, AS_RECORDED).step).toBe(recorded);
    expect(replay(plan, cost(0.4)).step).toBeCloseTo(0.6 * recorded, 0);
  });

  it('time beyond what events take is a pause, which recording leaves alone', () => {
    const { plan, recorded } = loop(2);
    // 20 µs with two events of up to 6 µs: 8 µs stay, 12 µs become 6.
    expect(replay(plan, { ...cost(0.5), densePerEvent: 6000 }).step).toBeCloseTo((recorded * 14) / 20, 0);
  });

  it('a GPU-bound step is as long as before', () => {
    const { plan, recorded } = loop(40);
    expect(recorded).toBe(410_000);
    expect(replay(plan, cost(0.4)).step).toBe(recorded);
  });

  it('a step is never shorter than the busy time of the device', () => {
    const { plan } = loop(15);
    expect(replay(plan, cost(0.9)).step).toBeCloseTo(LAUNCHES * 16_000, 0);
  });

  it('some host time always stays', () => {
    const { plan } = loop(1, (at) => ` | train.py(3): f ${at + 1}-${at + 4}`);
    expect(replay(plan, { ...AS_RECORDED, perFrame: 1e6 }).step).toBeCloseTo(200_000 * 0.15, 0);
  });

  it('Python frames have a cost too', () => {
    const { plan, recorded } = loop(2, (at) => ` | train.py(3): f ${at + 1}-${at + 4}`);
    expect(replay(plan, { ...AS_RECORDED, perFrame: 2000 }).step).toBeCloseTo(recorded - LAUNCHES * 2000, 0);
  });

  it('launches of Triton kernels have a cost too', () => {
    const { plan, recorded } = loop(2, () => '', 'triton_poi_fused_add_0');
    expect(replay(plan, { ...AS_RECORDED, perTritonLaunch: 3000 }).step).toBeCloseTo(
      recorded - LAUNCHES * 3000,
      0,
    );
  });

  it('kernels that one call launched together have a cost too', () => {
    const drawing = Array.from({ length: 3 }, (_, i) => {
      const at = i * 200;
      return `
        host 1  ProfilerStep#${i + 1} ${at}-${at + 200} | cudaGraphLaunch ${at + 10}-${at + 150} #${i + 1}
        gpu 7   k ${at + 20}-${at + 25} #${i + 1} | k ${at + 26}-${at + 30} #${i + 1} | k ${at + 31}-${at + 35} #${i + 1}`;
    });
    const { plan } = analyzeTrace(drawTrace(drawing.join('\n')), { steps: null })!.detail!;
    expect([...plan!.nodes.graphKernels]).toEqual([3, 3, 3]);
    // Part of the cost comes off the call, after the launch. The first and the last step differ by that part.
    const saved = 200_000 - replay(plan!, { ...AS_RECORDED, perGraphKernel: 3000 }).step;
    expect(saved / 9000).toBeGreaterThan(0.8);
    expect(saved / 9000).toBeLessThan(1.2);
  });
});

describe('the estimate', () => {
  /** 120 launches that take `us` each. */
  const launches = (us: number) => {
    const calls = Array.from(
      { length: 120 },
      (_, i) => `cudaLaunchKernel ${i * 40 + 5}-${i * 40 + 5 + us} #${i + 1}`,
    );
    const kernels = calls.map((_, i) => `k ${i * 40 + 30}-${i * 40 + 32} #${i + 1}`);
    const steps = `ProfilerStep#1 0-2400 | ProfilerStep#2 2400-4800`;
    const trace = drawTrace(`host 1  ${steps} | ${calls.join(' | ')}\ngpu 7  ${kernels.join(' | ')}`);
    return analyzeTrace(trace, { steps: null })!.detail!.plan!;
  };

  it('leaves 0.52 of dense host time where a launch takes 7 µs, less where it takes longer', () => {
    expect(recordingOf(launches(7)).likely.share).toBeCloseTo(0.48, 6);
    // 0.52 × √(7 ÷ 8) = 0.4864
    expect(recordingOf(launches(8)).likely.share).toBeCloseTo(1 - 0.4864, 4);
    expect(recordingOf(launches(8)).likely.densePerEvent).toBe(16_000);
  });

  it('stays near what was measured', () => {
    expect(recordingOf(launches(1)).likely.share).toBeCloseTo(0.1, 6);
    expect(recordingOf(launches(24)).likely.share).toBeCloseTo(0.65, 6);
  });

  it('takes the usual launch time where few launches are recorded', () => {
    expect(recordingOf(loop(2).plan)).toEqual(recordingOf(null));
    expect(recordingOf(null).likely.densePerEvent).toBe(14_000);
  });

  it('has a range of 1.2 both ways', () => {
    const { low, high } = recordingOf(null);
    expect(low.share).toBeCloseTo(1 - 0.52 * 1.2, 6);
    expect(high.share).toBeCloseTo(1 - 0.52 / 1.2, 6);
  });

  it('costs a job without a GPU 2.8 times as long per operator as making a view takes, on any machine', () => {
    expect(costOnCpu(1000, 100, 100)).toBe(280_000 + 30_000);
    expect(costOnCpu(1000, 100, 600)).toBe(6 * (280_000 + 30_000));
    expect(costOnCpu(1000, 0, null)).toBeCloseTo(644_000, 0);
  });

  it('without a replay, an event costs half of what it may take', () => {
    // 100 × 0.48 × 7 µs, and 10 frames × (0.48 × 7 + 3) µs.
    expect(costOfEvents(null, 100, 10)).toBeCloseTo(336_000 + 63_600, 0);
  });
});

describe('the baseline', () => {
  it('has a range where the step was not measured', () => {
    const { plan, recorded } = loop(2);
    const baseline = baselineOf(plan, recorded, null);
    expect(baseline).toMatchObject({
      replayed: recorded,
      faithful: true,
      recording: recordingOf(baseline.plan),
    });
    expect(baseline.unprofiledLow).toBeLessThan(baseline.unprofiled);
    expect(baseline.unprofiledHigh).toBeGreaterThan(baseline.unprofiled);
  });

  it('is fitted to a step measured without the profiler', () => {
    const { plan, recorded } = loop(2);
    const { recording, unprofiled, unprofiledLow, unprofiledHigh } = baselineOf(
      plan,
      recorded,
      recorded - 40_000,
    );
    expect(unprofiled).toBeCloseTo(recorded - 40_000, -1);
    // All host time is op-dense (14 µs an event): a fifth of it is the profiler's.
    expect(recording.likely.share).toBeCloseTo(0.2, 3);
    expect([unprofiledLow, unprofiledHigh]).toEqual([unprofiled, unprofiled]);
  });

  it('has no cost where the measured step is not shorter, and a bounded cost otherwise', () => {
    const { plan, recorded } = loop(2);
    expect(baselineOf(plan, recorded, recorded * 2).unprofiled).toBeCloseTo(recorded, -1);
    expect(baselineOf(plan, recorded, 1000).recording.likely.share).toBeCloseTo(0.85, 3);
  });

  it('is paced as measured where workers set the pace, and the cost stays an estimate', () => {
    const { plan, recorded } = loop(2);
    const paced = { ...plan, pace: recorded };
    expect(baselineOf(paced, recorded, null).unprofiled).toBe(recorded);
    const { unprofiled, recording, input } = baselineOf(paced, recorded, 0.9 * recorded);
    expect(unprofiled).toBeCloseTo(0.9 * recorded, 0);
    expect(recording).toEqual(recordingOf(plan));
    // All that the host wins is waiting.
    expect(input.unprofiled).toBeCloseTo(unprofiled - baselineOf(plan, recorded, null).unprofiled, 0);
  });

  it('is not faithful when the replay misses the recorded step by more than 5%', () => {
    const { plan, recorded } = loop(2);
    expect(baselineOf(plan, recorded * 1.04, null).faithful).toBe(true);
    expect(baselineOf(plan, recorded * 1.1, null).faithful).toBe(false);
  });

  it('divides by the steps that the plan counts', () => {
    expect(countedSteps(loop(2).plan.steps)).toBe(STEPS - 1);
  });
});
