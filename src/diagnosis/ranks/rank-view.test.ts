import { describe, expect, it } from 'vitest';
import { type DrawOptions, drawView, H200, logged } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { PHASES } from '../../../test/helpers/logged-view.js';
import { ns } from '../../base/units.js';
import { scaleHost } from '../../replay/edits.js';
import { priceOf } from '../../rules/kit/price.js';
import { type RankView, viewTrace } from './rank-view.js';

/** A launch takes 10 µs: up to 20 µs for each event are op-dense, and 1 − 0.52 × √0.7 of them are the profiler's. */
const EVENT_MS = 0.02 * (1 - 0.52 * Math.sqrt(0.7));
const FRAME_MS = 0.003 + EVENT_MS;

/** 200 operators per step, two events each. The GPU idles between them, or always has queued work. */
const HOST_BOUND = `
  host 1  ProfilerStep#1 0-20000 | aten::relu 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   relu_elementwise 65-70 #1 x200@100`;
const GPU_BOUND = `
  host 1  ProfilerStep#1 0-20000 | aten::relu 0-45 x200@50 | cudaLaunchKernel 25-30 #1 x200@50
  host 1  cudaDeviceSynchronize 10000-19990
  gpu 7   relu_elementwise 40-139 #1 x200@99.7`;
/** The same with a Python frame around each operator. */
const STACKS = `${HOST_BOUND}\nhost 1  train.py(12): forward 0-95 x200@100`;
/** Only recorded calls: recording them cost more than they take. */
const FLOODED = `
  host 1  ProfilerStep#1 0-2000 | aten::empty 0-1 x990@2 | cudaLaunchKernel 1985-1990 #1
  gpu 7   relu_elementwise 1992-1995 #1`;
const ON_CPU = 'host 1  ProfilerStep#1 0-20000 | aten::mm 0-190 x100@200';

const ms = (view: RankView) => view.step.unprofiled / 1e6;
const draw = (drawing: string, options?: DrawOptions) => drawView(steps(4, 20000, drawing), options);

describe('the step without the profiler', () => {
  it('is shorter by the cost of each recorded event if it is host-bound', () => {
    expect(ms(draw(HOST_BOUND))).toBeCloseTo(20 - 400 * EVENT_MS, 1);
  });

  it('is also shorter by the cost of each Python frame', () => {
    expect(ms(draw(STACKS))).toBeCloseTo(20 - 400 * EVENT_MS - 200 * FRAME_MS, 1);
  });

  it('is the same if it is GPU-bound', () => {
    const view = draw(GPU_BOUND);
    expect(ms(view)).toBeGreaterThan(19.8);
    expect(ms(view)).toBeLessThanOrEqual(20);
    expect(view.time.compute).toBeCloseTo(view.facts.time.compute, -5);
  });

  it('is the measured one if there is one', () => {
    const view = draw(HOST_BOUND, { unprofiledMs: 15 });
    expect(view).toMatchObject({ step: { unprofiled: 15e6, unprofiledBy: 'events' } });
    expect(draw(HOST_BOUND).step.unprofiledBy).toBe('replay');
  });

  it('keeps a minimum, however many events were recorded', () => {
    expect(drawView(steps(4, 2000, FLOODED)).step.unprofiled).toBeGreaterThanOrEqual(0.3 * 2e6);
  });

  it('is corrected for jobs without a GPU', () => {
    expect(ms(draw(ON_CPU))).toBeCloseTo(20 - 0.1 * 2.8 * 0.23);
  });
});

describe('the time by class', () => {
  it.each<[string, RankView]>([
    ['host-bound', draw(HOST_BOUND)],
    ['GPU-bound', draw(GPU_BOUND)],
    ['with stacks', draw(STACKS)],
    ['flooded with events', drawView(steps(4, 2000, FLOODED))],
    ['without a GPU', draw(ON_CPU)],
    ['measured shorter', draw(HOST_BOUND, { unprofiledMs: 15 })],
    ['measured longer', draw(HOST_BOUND, { unprofiledMs: 25 })],
    ['measured shorter than the GPU computes', draw(GPU_BOUND, { unprofiledMs: 10 })],
  ])('adds up to the step: %s', (_, view) => {
    const classes = Object.values(view.time);
    expect(classes.reduce((a, b) => a + b, 0) / view.step.unprofiled).toBeCloseTo(1, 6);
    expect(classes.every((ns) => ns >= 0)).toBe(true);
  });

  it('takes the cost of recording off host time, not off computing', () => {
    const view = draw(HOST_BOUND);
    expect(view.time.compute / 1e6).toBeCloseTo(1, 1);
    expect((view.facts.time.idle_host - view.time.idle_host) / 1e6).toBeCloseTo(400 * EVENT_MS, 1);
  });
});

/** A job without GPU whose operators took longer under the profiler: 3 ms of input, 17 ms of computing. */
describe('waits that the log measured too', () => {
  const LOADING = `
    host 1  ProfilerStep#1 0-20000 | enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 0-3000
    host 1  aten::mm 3000-20000`;
  const { facts } = draw(LOADING);

  it('are not taken for the cost of recording', () => {
    expect(facts.time.idle_data / 1e6).toBeCloseTo(3, 1);
    const onCpu = { ...PHASES, allHost: true };
    const time = { ...facts.time, idle_data: ns(2.8e6), compute: ns(12.2e6) };
    const view = viewTrace(0, facts, { ...logged(15, time), knowledge: onCpu });
    expect(view.divided.by).toBe('trace');
    // Beyond the measured waits, all classes are scaled.
    expect(view.time.idle_data / 1e6).toBeGreaterThan(2);
  });
});

it('has the rates of the GPU, if it is a known one', () => {
  expect(draw(HOST_BOUND, { header: H200 }).rates?.name).toBe('H200');
  expect(draw(HOST_BOUND, { header: {} }).rates).toBeNull();
});

/** A loader with workers: the few recorded steps found their batches ready, the log's steps waited 30 ms. */
describe('waits that only the log has', () => {
  const READY = `
    host 1  ProfilerStep#1 0-20000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-100
    host 1  aten::relu 100-190 x199@100 | cudaLaunchKernel 150-160 #1 x199@100
    gpu 7   relu_elementwise 165-190 #1 x199@100`;
  const { facts } = draw(READY);
  const withWaits = (waitMs: number, stepMs: number) =>
    viewTrace(0, facts, logged(stepMs, { ...facts.time, idle_data: ns(waitMs * 1e6) }));

  it('are input waits, and what recording cost comes off the host', () => {
    const { time } = withWaits(30, 48);
    expect(time.idle_data / 1e6).toBeCloseTo(30, 1);
    expect(time.idle_host / 1e6).toBeCloseTo(facts.time.idle_host / 1e6 - 2, 0);
  });

  it('are part of the step that fixes are priced on', () => {
    const { baseline } = withWaits(30, 48);
    expect(baseline).toMatchObject({ faithful: true });
    expect(baseline!.unprofiled / 1e6).toBeCloseTo(48, 1);
  });

  it('are waits for workers, which a faster host does not shorten', () => {
    const gain = (view: RankView) =>
      priceOf(view, (plan) => scaleHost(plan, () => true, 0.5))!.speedup.likely;
    expect(gain(withWaits(30, 48))).toBeCloseTo(1, 2);
    // A tenth of the step is too little to say that workers set the pace.
    expect(gain(withWaits(2, 21))).toBeGreaterThan(1.3);
  });

  it('below 5% of the step count for nothing', () => {
    expect(withWaits(0.9, 18).time.idle_data / 1e6).toBeLessThan(0.2);
  });

  it('do not exist where the training thread loads', () => {
    const inMain = draw(READY.replace('_MultiProcessing', '_SingleProcess'));
    const time = { ...inMain.facts.time, idle_data: ns(30e6) };
    const view = viewTrace(0, inMain.facts, logged(19, time));
    expect(view.time.idle_data / 1e6).toBeLessThan(1);
  });
});
