import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';

const NEXT = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__';
/** Each step takes a batch of two tensors, copies them from pinned memory, and computes for 18 ms. */
const STEP = `
  host 1  ProfilerStep#1 0-20000 | ${NEXT} 0-1000 | cudaMemcpyAsync 1010-1020 #1 | cudaMemcpyAsync 1030-1040 #2
  host 1  cudaLaunchKernel 1100-1110 #3 | cudaStreamSynchronize 1120-19990
  gpu 7   Memcpy HtoD (Pinned -> Device) 1020-1030 #1 bytes=4096
  gpu 7   Memcpy HtoD (Pinned -> Device) 1040-1050 #2 bytes=4096 | gemm 1120-19980 #3`;
const PINS = 'host 2  cudaPointerGetAttributes';
const queueOf = (drawing: string) => drawView(drawing).facts.input.queue;

describe('the prefetch queue', () => {
  it('counts batches by the tensors that the loader pins', () => {
    const kept = `${STEP}\n${PINS} 500-501 | cudaPointerGetAttributes 9000-9001`;
    // Half of them arrive in the first millisecond, while the step waits.
    expect(queueOf(steps(4, 20000, kept))).toEqual({ taken: 4, delivered: 4, deliveredUnasked: 2 });
  });

  it('the prefetch queue is only emptied if nothing arrives', () => {
    // Two tensors arrived before the first step, so arrivals are recorded.
    const before = [`${PINS} 10-11 | cudaPointerGetAttributes 20-21`, 100] as const;
    const drawing = inTurn(before, ...Array(4).fill([STEP, 20000] as const));
    expect(queueOf(drawing)).toEqual({ taken: 4, delivered: 0, deliveredUnasked: 0 });
  });

  it('does not count what the training thread pins itself', () => {
    const own = STEP.replace('host 1  cudaLaunch', 'host 1  cudaPointerGetAttributes 1002-1003 | cudaLaunch');
    const kept = `${own}\n${PINS} 9000-9001`;
    // One of the two copied tensors came through the queue.
    expect(queueOf(steps(4, 20000, kept))).toEqual({ taken: 4, delivered: 4, deliveredUnasked: 4 });
  });

  it.each([
    ['no arrival was recorded at all', STEP],
    ['batches are not pinned', STEP.replaceAll('Pinned', 'Pageable')],
    ['the training thread loads', STEP.replace('_MultiProcessing', '_SingleProcess')],
    ['the training thread pins all', `${STEP}\nhost 1  cudaPointerGetAttributes 1001-1002 x2@2`],
  ])('the prefetch queue is unknown where %s', (_, drawing) =>
    expect(queueOf(steps(4, 20000, drawing))).toBeNull(),
  );
});

describe('a long wait in the first step alone', () => {
  const READY = `
    host 1  ProfilerStep#1 0-20000 | ${NEXT} 0-20 | cudaLaunchKernel 30-40 #1 | cudaStreamSynchronize 50-19990
    gpu 7   gemm 50-19980 #1`;
  const LATE = `
    host 1  ProfilerStep#1 0-60000 | ${NEXT} 0-40000 | cudaLaunchKernel 40000-40010 #1
    host 1  cudaStreamSynchronize 40020-59990
    gpu 7   gemm 40020-59980 #1`;
  const [ready, late] = [[READY, 20000] as const, [LATE, 60000] as const];
  const factsOf = (drawing: string) => drawView(drawing).facts;

  it('counts, because the steps after it live off what was loaded meanwhile', () => {
    const { steps: recorded, time } = factsOf(inTurn(late, ready, ready, ready));
    expect(recorded).toMatchObject({ count: 4, irregular: true });
    expect(time.idle_data / 1e6).toBeCloseTo(10, 0);
  });

  it('does not count in the first step of a job, where workers start', () => {
    const fromStart = inTurn(late, ready, ready, ready).replace('ProfilerStep#1 ', 'ProfilerStep#0 ');
    expect(factsOf(fromStart).steps).toMatchObject({ count: 3, irregular: false });
  });

  it('does not change steps that do not wait', () => {
    expect(factsOf(inTurn(ready, ready, ready)).steps).toMatchObject({ count: 2, irregular: false });
  });
});
