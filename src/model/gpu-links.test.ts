import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../test/helpers/draw-trace.js';

const linked = (drawing: string) => {
  const trace = drawTrace(drawing);
  const { work, launch, ...counts } = trace.links;
  const pairs = [...work].map((row, i) => [trace.name(row), launch[i]! < 0 ? null : trace.name(launch[i]!)]);
  return { pairs, ...counts };
};

describe('linkGpuWork', () => {
  it('joins work to its launch by correlation id, also several to one', () => {
    const drawing = `
      host 1  cudaLaunchKernel 0-5 #1 | cudaGraphLaunch 6-9 #2 | cudaMemcpyAsync 10-12 #3
      gpu 7   gemm 8-20 #1 | node_a 21-25 #2 | node_b 26-30 #2 | Memcpy DtoH 31-33 #3`;
    expect(linked(drawing)).toEqual({
      pairs: [
        ['gemm', 'cudaLaunchKernel'],
        ['node_a', 'cudaGraphLaunch'],
        ['node_b', 'cudaGraphLaunch'],
        ['Memcpy DtoH', 'cudaMemcpyAsync'],
      ],
      workWithoutLaunch: 0,
      launches: 2,
      launchesWithoutWork: 0,
    });
  });

  it('counts work without a launch and launches without work', () => {
    const drawing = `
      host 1  cudaLaunchKernel 0-5 #1 | cuLaunchKernelEx 6-9 #2 | cudaStreamSynchronize 10-20 #9
      gpu 7   gemm 8-20 #1 | from_before 0-3 #77`;
    expect(linked(drawing)).toMatchObject({ workWithoutLaunch: 1, launches: 2, launchesWithoutWork: 1 });
  });

  it('linkGpuWork finds nothing to join on a machine without a GPU', () => {
    const none = { pairs: [], workWithoutLaunch: 0, launches: 0, launchesWithoutWork: 0 };
    expect(linked('host 1  aten::mm 0-5')).toEqual(none);
    expect(linked('host 1  cudaGetDevice 0-5')).toEqual(none);
  });

  it('works when ids are far apart', () => {
    const drawing =
      'host 1  cudaLaunchKernel 0-5 #3 | cudaLaunchKernel 6-9 #4000000000\ngpu 7  a 8-9 #4000000000 | b 9-10 #3';
    expect(linked(drawing)).toMatchObject({ workWithoutLaunch: 0, launchesWithoutWork: 0 });
  });
});
