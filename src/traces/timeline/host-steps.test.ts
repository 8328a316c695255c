import { describe, expect, it } from 'vitest';
import { drawTrace, inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { analyzeTrace } from '../analyze-trace.js';
import { orderGpuWork } from './gpu-work.js';
import { findHostSpans } from './host-spans.js';
import { findStepTimes } from './step-times.js';

function stepsIn(drawing: string) {
  const trace = drawTrace(drawing);
  const work = orderGpuWork(trace);
  const { source, steps: found, begin } = findStepTimes(trace, work, findHostSpans(trace, work), null);
  const bounds = [begin, ...found.map((s) => s.frontier)].map((time) => time / 1000);
  return { source, count: found.length, lengths: bounds.slice(1).map((end, i) => end - bounds[i]!) };
}

/** A batch is copied, then two layers of two kernels run. 100 µs. */
const LOOP = `
  host 1  cudaMemcpyAsync 20-22 #1 | cudaLaunchKernel 24-26 #2 | cudaLaunchKernel 28-30 #3 | cudaLaunchKernel 32-34 #4 | cudaLaunchKernel 36-38 #5
  gpu 7   Memcpy HtoD (Pinned -> Device) 23-25 #1 | gemm 27-30 #2 | relu 31-33 #3 | gemm 35-38 #4 | relu 39-90 #5`;

describe('a loop without marks', () => {
  it('is divided where its launches begin again', () => {
    const { source, lengths } = stepsIn(steps(6, 100, LOOP));
    expect(source).toBe('launches');
    expect(lengths.slice(1)).toEqual([100, 100, 100, 100]);
  });

  it('is divided after a start-up that launches other kernels', () => {
    const startUp = 'host 1  cudaLaunchKernel 0-500 #1\n gpu 7  fill 501-510 #1';
    const { source, lengths } = stepsIn(inTurn([startUp, 600], ...Array(6).fill([LOOP, 100] as const)));
    expect(source).toBe('launches');
    expect(lengths.slice(1).every((length) => length === 100)).toBe(true);
  });

  it('has no steps if only layers repeat: a layer hands nothing over to the host', () => {
    const layers = LOOP.replace('cudaMemcpyAsync', 'cudaLaunchKernel').replace(
      'Memcpy HtoD (Pinned -> Device)',
      'norm',
    );
    expect(stepsIn(steps(6, 100, layers)).source).toBe('window');
  });

  it('has no steps if layers that wait for the device repeat inside one call of the model', () => {
    const model = (name: string) => `${steps(6, 100, LOOP)}\n host 1  ${name} 0-600`;
    expect(stepsIn(model('nn.Module: Experts_0')).source).toBe('window');
    expect(stepsIn(model('Torch-Compiled Region: 0/0')).source).toBe('window');
    expect(stepsIn(model('a range around the loop')).source).toBe('launches');
  });

  it('has steps if each is one call of the model', () => {
    expect(stepsIn(steps(6, 100, `${LOOP}\n host 1  nn.Module: Net_0 10-95`)).source).toBe('launches');
  });

  it('is divided by token although an attention kernel changes with every fourth one', () => {
    const token = (n: number) => (n % 4 === 3 ? LOOP.replace('gemm 35', 'aligned_gemm 35') : LOOP);
    const { source, lengths } = stepsIn(
      inTurn(...Array.from({ length: 16 }, (_, n) => [token(n), 100] as const)),
    );
    expect(source).toBe('launches');
    expect(lengths.slice(1).every((length) => length === 100)).toBe(true);
  });

  it('is not divided by layers that wait for the device, with other work before the first one', () => {
    const layers = Array(6).fill([LOOP, 100] as const);
    const head = `
      host 1  cudaLaunchKernel 20-22 #1 | cudaLaunchKernel 24-26 #2 | cudaLaunchKernel 28-30 #3
      gpu 7   norm 23-25 #1 | head 27-30 #2 | sample 31-90 #3`;
    const pass = [...layers, [head, 100] as const];
    const { source, count } = stepsIn(inTurn(...pass, ...pass, ...pass, ...pass, ...pass));
    expect({ source, count }).toEqual({ source: 'launches', count: 4 });
  });

  it('has no steps if it runs only twice', () => {
    expect(stepsIn(steps(2, 100, LOOP)).source).toBe('window');
  });

  it('has no steps if what it launches differs every time', () => {
    const one = (n: number) => LOOP.replaceAll(/gemm|relu/g, (name) => `${name}_${n}`);
    expect(stepsIn(inTurn(...[1, 2, 3, 4, 5].map((n) => [one(n), 100] as const))).source).toBe('window');
  });
});

describe('annotations', () => {
  it.each([
    'train_step',
    'iteration 3',
    'step[DECODE bs=32]',
    'execute_32_context_0(sq0)_generation_32(sq32)',
  ])('%s marks steps', (name) => {
    const { source, count } = stepsIn(steps(3, 100, `${LOOP}\n host 1  ${name} 10-95`));
    expect({ source, count }).toEqual({ source: 'annotation', count: 3 });
  });

  it('of layers mark no steps', () => {
    expect(stepsIn(steps(2, 100, `${LOOP}\n host 1  record: attention 10-95`)).source).toBe('window');
  });
});

describe('start-up', () => {
  const COLD = `
    host 1  ProfilerStep#0 0-5000 | cudaFree 100-4000 | cudaLaunchKernel 4100-4102 #1
    gpu 7   gemm 4110-4900 #1`;
  const WARM = `
    host 1  ProfilerStep#0 0-1000 | cudaLaunchKernel 100-102 #1
    gpu 7   gemm 110-900 #1`;
  const run = (...parts: readonly (readonly [string, number])[]) =>
    analyzeTrace(drawTrace(inTurn(...parts)), { steps: null })!;

  it('in the first step is left out of the figures and reported with its time', () => {
    const { steps: found, startUp, time } = run([COLD, 5000], [WARM, 1000], [WARM, 1000], [WARM, 1000]);
    expect(found.first).toBeGreaterThan(0);
    expect(found.recorded).toBe(1_000_000);
    expect(startUp).toMatchObject({ time: 3_900_000, steps: 1, left: 0 });
    expect(time.idle_host).toBeLessThan(300_000);
  });

  it('does not hide a long first step without a call that only start-up makes', () => {
    const slow = COLD.replace('cudaFree', 'aten::item');
    expect(run([slow, 5000], [WARM, 1000], [WARM, 1000], [WARM, 1000]).startUp).toBeNull();
  });

  it('of a recording without steps is cut off if most launches come later', () => {
    const cold = 'host 1  cuModuleLoadData 0-5000 | cudaLaunchKernel 5001-5003 #1\n gpu 7  fill 5010-5020 #1';
    const warm =
      'host 1  cudaLaunchKernel 10-12 #1 | cudaLaunchKernel 20-22 #2\n gpu 7  gemm 15-19 #1 | relu 30-90 #2';
    const { startUp, steps: found } = run([cold, 5100], [warm, 100], [warm.replace('gemm', 'conv'), 100]);
    expect(found.source).toBe('window');
    expect(found.recorded).toBeLessThan(400_000);
    expect(startUp!.left).toBe(0);
  });

  it('is not what takes the job down after all work of the GPU', () => {
    const cold = 'host 1  cuModuleLoadData 0-5000 | cudaLaunchKernel 5001-5003 #1\n gpu 7  gemm 5010-9000 #1';
    const down = 'host 1  cudaDeviceSynchronize 0-10 | cudaFree 20-3020';
    const { startUp, time } = run([cold, 9000], [down, 4000]);
    expect(startUp!.time).toBe(5_000_000);
    expect(time.compute).toBe(3_990_000);
  });

  it('is not seen in an operator that was fast before: another process may have had its core', () => {
    const stepOf = (ms: number) =>
      `host 1  ProfilerStep#0 0-${100 + ms} | aten::mm 10-50 | aten::relu 60-${70 + ms}`;
    const usual = Array.from({ length: 4 }, () => [stepOf(0), 100] as const);
    expect(run(...usual, [stepOf(4000), 4100], ...usual).startUp).toBeNull();
    expect(run([stepOf(4000), 4100], ...usual).startUp).toMatchObject({ time: 4_010_000, steps: 1 });
  });

  it('of a recording that is nothing else is reported as its share', () => {
    const cold = `
      host 1  cudaLaunchKernel 0-5000 #1 | cudaLaunchKernel 5010-9000 #2 | cudaLaunchKernel 9010-9020 #3 | cudaLaunchKernel 9030-9040 #4 | cudaLaunchKernel 9050-9060 #5 | cuModuleLoadData 9070-14000 | cudaLaunchKernel 14010-14020 #6
      gpu 7   a 5005-5009 #1 | b 9001-9003 #2 | c 9021-9022 #3 | d 9041-9042 #4 | e 9061-9062 #5 | f 14021-14022 #6`;
    expect(run([cold, 15_000]).startUp!.left).toBeGreaterThan(0.9);
  });
});

describe('idle time', () => {
  const timeOf = (drawing: string) => analyzeTrace(drawTrace(drawing), { steps: null })!.time;

  it('before work that was launched long ago is not the host’s', () => {
    const time = timeOf(`
      host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 10-12 #1 | cudaLaunchKernel 14-16 #2 | cudaDeviceSynchronize 20-50000
      gpu 7   gemm 35000-40000 #1 | gemm 40000-50000 #2`);
    expect(time.idle_host).toBeLessThan(1_100_000);
    expect(time.idle_other).toBeGreaterThan(33_000_000);
  });

  it('in a call that waits for the device is not the host’s if nothing runs there', () => {
    const time = timeOf(`
      host 1  ProfilerStep#1 0-50000 | cudaStreamSynchronize 10-40000 | cudaLaunchKernel 40010-40012 #1
      gpu 7   gemm 40020-50000 #1`);
    expect(time.idle_sync).toBe(1_000_000);
    expect(time.idle_other).toBeGreaterThan(38_000_000);
  });

  it('during a launch that loads code is the host’s', () => {
    const time = timeOf(`
      host 1  ProfilerStep#1 0-50000 | cudaLaunchKernel 10-29000 #1
      gpu 7   gemm 29010-50000 #1`);
    expect(time.idle_host).toBeGreaterThan(28_000_000);
  });
});
