import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../test/helpers/draw-trace.js';
import { analyseTrace } from '../traces/analyse-trace.js';
import { countedSteps } from './plan.js';
import { baselineOf, recordingOf } from './recording-cost.js';
import { AS_RECORDED, replay } from './replay.js';

const STEPS = 4;
const LAUNCHES = 10;
/** An operator every 20 µs launches one kernel (two recorded events each), so the host takes 200 µs a step. */
function loop(kernelUs: number, more: (at: number) => string = () => '') {
  const host: string[] = [];
  const gpu: string[] = [];
  let free = 0;
  for (let i = 0; i < STEPS * LAUNCHES; i++) {
    const at = i * 20;
    if (i % LAUNCHES === 0) host.push(`ProfilerStep#${i / LAUNCHES + 1} ${at}-${at + 200}`);
    host.push(`aten::add ${at + 5}-${at + 20} | cudaLaunchKernel ${at + 10}-${at + 16} #${i + 1}${more(at)}`);
    const start = Math.max(at + 15, free + 1);
    free = start + kernelUs;
    gpu.push(`k ${start}-${free} #${i + 1}`);
  }
  const trace = drawTrace(`host 1  ${host.join(' | ')}\ngpu 7  ${gpu.join(' | ')}`);
  const facts = analyseTrace(trace, { steps: null })!;
  return { plan: facts.detail!.plan!, recorded: facts.steps.profiled };
}
const EVENTS = LAUNCHES * 2;
const perEvent = (ns: number) => ({ ...AS_RECORDED, perEvent: ns });

describe('without the profiler', () => {
  it('a host-bound step is shorter by the cost of its events', () => {
    const { plan, recorded } = loop(2);
    expect(recorded).toBe(200_000);
    expect(replay(plan, AS_RECORDED).step).toBe(recorded);
    expect(replay(plan, perEvent(2900)).step).toBeCloseTo(recorded - EVENTS * 2900, 0);
  });

  it('a GPU-bound step is as long as before', () => {
    const { plan, recorded } = loop(40);
    expect(recorded).toBe(410_000);
    expect(replay(plan, perEvent(2900)).step).toBe(recorded);
  });

  it('a step is never shorter than the busy time of the device', () => {
    const { plan } = loop(15);
    expect(replay(plan, perEvent(5000)).step).toBeCloseTo(LAUNCHES * 16_000, 0);
  });

  it('some host time always stays', () => {
    expect(replay(loop(1).plan, perEvent(1e6)).step).toBeCloseTo(200_000 * 0.15, 0);
  });

  it('Python frames have a cost too', () => {
    const { plan, recorded } = loop(2, (at) => ` | train.py(3): f ${at + 1}-${at + 4}`);
    expect(replay(plan, { ...AS_RECORDED, perFrame: 2000 }).step).toBeCloseTo(recorded - LAUNCHES * 2000, 0);
  });

  it('kernels that one call launched together have a cost too', () => {
    const drawing = Array.from({ length: 3 }, (_, i) => {
      const at = i * 200;
      return `
        host 1  ProfilerStep#${i + 1} ${at}-${at + 200} | cudaGraphLaunch ${at + 10}-${at + 150} #${i + 1}
        gpu 7   k ${at + 20}-${at + 25} #${i + 1} | k ${at + 26}-${at + 30} #${i + 1} | k ${at + 31}-${at + 35} #${i + 1}`;
    });
    const { plan } = analyseTrace(drawTrace(drawing.join('\n')), { steps: null })!.detail!;
    expect([...plan!.nodes.graphKernels]).toEqual([3, 3, 3]);
    // Part of the cost comes off the call, after the launch. The first and the last step differ by that part.
    const saved = 200_000 - replay(plan!, { ...AS_RECORDED, perGraphKernel: 3000 }).step;
    expect(saved / 9000).toBeGreaterThan(0.8);
    expect(saved / 9000).toBeLessThan(1.2);
  });
});

describe('the baseline', () => {
  it('has a range where the step was not measured', () => {
    const { plan, recorded } = loop(2);
    const baseline = baselineOf(plan, recorded, null);
    expect(baseline).toMatchObject({
      recorded,
      replayed: recorded,
      faithful: true,
      recording: recordingOf(baseline.plan),
    });
    expect(baseline.correctedLow).toBeLessThan(baseline.corrected);
    expect(baseline.correctedHigh).toBeGreaterThan(baseline.corrected);
  });

  it('is fitted to a step measured without the profiler', () => {
    const { plan, recorded } = loop(2);
    const { recording, corrected, correctedLow, correctedHigh } = baselineOf(
      plan,
      recorded,
      recorded - 40_000,
    );
    expect(corrected).toBeCloseTo(recorded - 40_000, -1);
    expect(recording.likely.perEvent).toBeCloseTo(2000, -1);
    expect([correctedLow, correctedHigh]).toEqual([corrected, corrected]);
  });

  it('has no cost where the measured step is not shorter, and a bounded cost otherwise', () => {
    const { plan, recorded } = loop(2);
    expect(baselineOf(plan, recorded, recorded * 2).corrected).toBeCloseTo(recorded, -1);
    expect(baselineOf(plan, recorded, 1000).recording.likely.perEvent).toBeCloseTo(8000, -1);
  });

  it('is not faithful when the replay misses the recorded step by more than 5 %', () => {
    const { plan, recorded } = loop(2);
    expect(baselineOf(plan, recorded * 1.04, null).faithful).toBe(true);
    expect(baselineOf(plan, recorded * 1.1, null).faithful).toBe(false);
  });

  it('divides by the steps that the plan counts', () => {
    expect(countedSteps(loop(2).plan.steps)).toBe(STEPS - 1);
  });
});
