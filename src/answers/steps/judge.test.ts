import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { judge, type RankVerdict } from './judge.js';

const NEXT = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__';
const COMPILE = '_compile.compile_inner (dynamo_timed)';
/** A step of 100 ms. For the first `percent` the host is in a span, then the GPU computes. */
const after = (span: string, percent: number) => {
  const launch = percent * 1000;
  return `
    host 1  ProfilerStep#1 0-100000${span && ` | ${span} 0-${launch}`}
    host 1  cudaLaunchKernel ${launch}-${launch + 10} #1 | cudaDeviceSynchronize ${launch + 20}-99995
    gpu 7   nvjet_tst_256 ${launch + 15}-99990 #1`;
};
const input = (percent: number) => after(NEXT, percent);
const python = (percent: number) => after('', percent);
/** The GPU computes, then communicates for `percent` of the step. */
const communication = (percent: number) => `
  host 1  ProfilerStep#1 0-100000 | cudaLaunchKernel 0-10 #1 | cudaLaunchKernel 20-30 #2 | cudaDeviceSynchronize 40-99995
  gpu 7   nvjet_tst_256 15-${100000 - percent * 1000} #1
  gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL ${100000 - percent * 1000}-99990 #2`;
/** Input, then Python, then the GPU computes. */
const inputAndPython = (data: number, host: number) =>
  after('', data + host).replace('0-100000', `0-100000 | ${NEXT} 0-${data * 1000}`);
/** Copies to the device are batches, copies to the host are reads. */
const copy = (name: string, percent: number) =>
  communication(percent).replace('gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL', `gpu 7   Memcpy ${name}`);
const ON_CPU = 'host 1  ProfilerStep#1 0-100000 | aten::addmm 0-98000';

const textOf = ({ doubts }: RankVerdict) => doubts.map((d) => d.text).join('; ');
const judged = (drawing: string, count = 8) => judge(drawView(steps(count, 100000, drawing)));

describe('the bottleneck', () => {
  it.each([
    ['gpu', 'nothing waits', input(1)],
    ['gpu', 'computing is above 85%', input(12)],
    ['gpu', 'no wait is a quarter of computing', input(17)],
    ['data', 'the GPU waits for input a third of the time', input(33)],
    ['data', 'the GPU waits for input nearly all the time', input(95)],
    ['data', 'batches are copied a third of the time', copy('HtoD (Pageable -> Device)', 33)],
    ['comms', 'a third is exposed communication', communication(33)],
    ['host', 'a third is Python', python(33)],
    ['host', 'a third is compiling', after(COMPILE, 33)],
    ['host', 'values are copied to the host a third of the time', copy('DtoH (Device -> Pageable)', 33)],
    ['compute', 'operators run on the CPU', ON_CPU],
    [
      'data',
      'a job on the CPU waits for input',
      `host 1  ProfilerStep#1 0-100000 | ${NEXT} 0-50000 | aten::mm 50000-99900`,
    ],
  ])('%s when %s', (bottleneck, _, drawing) => {
    expect(judged(drawing).bottleneck).toBe(bottleneck);
  });

  it('has shares that add up to the step', () => {
    const { shares } = judged(input(33));
    expect(shares.data).toBeCloseTo(0.33, 2);
    expect(shares.gpu).toBeCloseTo(0.67, 2);
    expect(Object.values(shares).reduce((a, b) => a + b, 0)).toBeCloseTo(1, 6);
  });
});

describe('the runner-up', () => {
  it.each([
    ['is named when it is close', input(50), 'gpu'],
    ['is the GPU when it takes longer than the wait that is named', input(45), 'gpu'],
    ['is not named when it is far behind', input(90), null],
    ['is not named when it is small', input(3), null],
    [
      'is called compute without a GPU',
      `host 1  ProfilerStep#1 0-100000 | ${NEXT} 0-50000 | aten::mm 50000-99900`,
      'compute',
    ],
  ])('%s', (_, drawing, second) => expect(judged(drawing).second).toBe(second));
});

describe('confidence', () => {
  const plain = judged(input(60));
  const irregular = inTurn([input(60), 100000], [input(60), 100000], [input(60), 300000]);

  it('is high when one class leads by far, lower when two are close', () => {
    expect(judged(input(95))).toMatchObject({ doubts: [] });
    expect(judged(input(95)).confidence).toBeGreaterThan(0.9);
    expect(judged(inputAndPython(45, 40)).confidence).toBeLessThan(0.65);
  });

  it('confidence grows with a wait, however much is computed in addition', () => {
    const grown = [25, 33, 45, 50, 60, 80].map((percent) => judged(input(percent)).confidence);
    expect(grown).toEqual(grown.toSorted((a, b) => a - b));
    expect(grown[0]).toBeLessThan(0.65);
    expect(judged(input(50)).confidence).toBeGreaterThan(0.8);
  });

  it.each([
    ['no step twice', steps(2, 100000, python(60)).replaceAll('ProfilerStep#', 'train')],
    ['only one step', input(60)],
    [
      'step times vary a lot',
      `${irregular}\nhost 1  ProfilerStep#4 300000-600000 | cudaLaunchKernel 590000-590010 #9\ngpu 7  gemm 590020-600000 #9`,
    ],
    ['no host events', 'gpu 7  gemm 0-40000 | gemm 60000-100000'],
    ['no recorded reason', `${input(60)}\ngpu 7  gemm 500000-500010 #1`],
  ])('is lowered: %s', (doubt, drawing) => {
    const verdict = judge(drawView(drawing));
    expect(textOf(verdict)).toMatch(doubt);
    const { shares, bottleneck } = verdict;
    const others = (['data', 'comms', 'host'] as const).filter((c) => c !== bottleneck).map((c) => shares[c]);
    const lead = shares[bottleneck as 'gpu'] - Math.max(0.1, shares.gpu / 4, ...others);
    expect(verdict.confidence).toBeLessThan(0.6 + Math.min(0.37, lead * 0.7));
    expect(plain.doubts).toEqual([]);
  });
});

describe('computing on a late rank', () => {
  // 30% waits for input.
  const view = drawView(steps(8, 100000, input(30)));

  it('is the bottleneck when it costs more than any wait', () => {
    expect(judge(view).bottleneck).toBe('data');
    const late = judge(view, 0.4);
    expect(late.bottleneck).toBe('gpu');
    expect(late.confidence).toBeGreaterThan(0.7);
  });

  it('is not when it costs less, but lowers the confidence', () => {
    const late = judge(view, 0.25);
    expect(late.bottleneck).toBe('data');
    expect(late.confidence).toBeLessThan(judge(view).confidence);
  });
});

describe('an answer that depends on what the profiler cost', () => {
  // Recording 100 events took 670 µs (530 to 790): of 2650 µs on the host 2120 or 1860 are left, a quarter of 8000 µs or not.
  const BETWEEN = `
    host 1  ProfilerStep#1 0-10670 | aten::empty 0-10 x98@20 | cudaLaunchKernel 2645-2650 #1
    host 1  cudaDeviceSynchronize 2670-10665
    gpu 7   nvjet_tst_256 2660-10660 #1`;

  it('is doubted', () => {
    expect(textOf(judge(drawView(steps(8, 10670, BETWEEN))))).toMatch(/profiler's own cost/);
  });

  it('is doubted less when both answers are named', () => {
    // As BETWEEN, with 2 ms of the 10 waited for input: as much as the host takes, more or less.
    const drawing = `
      host 1  ProfilerStep#1 0-10670 | aten::empty 0-10 x98@20 | cudaLaunchKernel 2645-2650 #1
      host 1  ${NEXT} 2670-4670 | cudaLaunchKernel 4675-4680 #2
      gpu 7   nvjet_tst_256 2660-2670 #1 | nvjet_tst_256 4690-10660 #2`;
    const verdict = judge(drawView(steps(8, 10670, drawing)));
    expect(textOf(verdict)).toMatch(/profiler's own cost/);
    expect(new Set([verdict.bottleneck, verdict.second])).toEqual(new Set(['data', 'host']));
    expect(verdict.confidence).toBeGreaterThanOrEqual(0.5);
  });

  it('is not doubted when the step was measured without the profiler', () => {
    const view = drawView(steps(8, 10670, BETWEEN), { unprofiledMs: 10 });
    expect(judge(view).doubts).toEqual([]);
  });
});

describe('a prefetch queue that runs empty', () => {
  /** The GPU computes all the time. Batches are copied from pinned memory, and none arrives. */
  const STEP = `
    host 1  ProfilerStep#1 0-50000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-50
    host 1  cudaMemcpyAsync 60-70 #1 | cudaLaunchKernel 80-90 #2 | cudaDeviceSynchronize 100-49990
    gpu 7   Memcpy HtoD (Pinned -> Device) 70-80 #1 bytes=4096 | gemm 95-49980 #2`;
  const arriving = `${STEP}\nhost 2  cudaPointerGetAttributes 9000-9001`;

  it('is data-bound, with little confidence, and what the steps show comes second', () => {
    // One batch arrived before the first step, so arrivals are recorded.
    const before = ['host 2  cudaPointerGetAttributes 10-11', 100] as const;
    const verdict = judge(drawView(inTurn(before, ...Array(4).fill([STEP, 50000] as const))));
    expect(verdict).toMatchObject({ bottleneck: 'data', second: 'gpu', confidence: 0.55 });
  });

  it('is not concluded where no arrival was recorded', () => {
    expect(judge(drawView(steps(4, 50000, STEP))).bottleneck).toBe('gpu');
  });

  it('is not, where batches arrive as fast as they are used', () => {
    const verdict = judge(drawView(steps(4, 50000, arriving)));
    expect(verdict).toMatchObject({ bottleneck: 'gpu', doubts: [] });
    expect(verdict.confidence).toBeGreaterThan(0.9);
  });

  it('is not, where an event log measured the step', () => {
    expect(judge(drawView(steps(4, 50000, STEP), { unprofiledMs: 50 })).bottleneck).toBe('gpu');
  });
});

it('copies to the host are results, not reads, in a program without PyTorch', () => {
  const loop = steps(8, 100000, copy('DtoH (Device -> Pinned)', 60));
  expect(judge(drawView(loop)).bottleneck).toBe('host');
  const other = loop.replaceAll('ProfilerStep#', 'iteration ').replaceAll('nvjet_tst_256', 'solve_heat');
  expect(judge(drawView(other)).bottleneck).toBe('data');
});
