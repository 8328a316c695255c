import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule as exposedCollectives } from './exposed-collectives.js';
import { rule } from './pipeline-waits.js';

/** 10 ms of waiting for the stage before, then 10 ms of computing. */
const WAITS = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-35 #2
  host 1  cudaDeviceSynchronize 50-20150
  gpu 20  nccl:recv 50-10050 #1 elements=25000000 dtype=BFloat16
  gpu 7   nvjet_tst_256 10060-20060 #2`;
const draw = (drawing: string) => drawView(steps(4, 20200, drawing));

describe('stages that wait for each other', () => {
  const expected = { id: 'pipeline-waits', addresses: 'comms', unit: 'ms/step', placed: false } as const;

  it('are named with the exposed time of sends and receives', () => {
    const found = fires(rule, draw(WAITS), expected);
    expect(found.evidence[1]!.text).toMatch(/^sends and receives: (?:9\.9|10\.0)\d? ms per step of it/);
    expect(found.evidence).toHaveLength(2);
    expect(silence(exposedCollectives, draw(WAITS))).toMatch(/more specific/);
  });

  it('come with the stage that waits least', () => {
    const slow = { ...draw(WAITS.replace('50-10050', '9050-10050').replace('10060', '1060')), rank: 1 };
    const found = fires(rule, draw(WAITS), expected, { ranks: [draw(WAITS), slow] });
    expect(found.evidence[2]!.text).toMatch(/^rank 1 waits least, .*: its stage is the slowest$/);
  });

  it.each([
    ['gradients are reduced', /little of/, WAITS.replace('nccl:recv', 'ncclDevKernel_AllReduce_Sum_bf16')],
    ['the exchange is hidden', /exposed communication is/, WAITS.replace('10060-20060', '50-20060')],
  ])('are not named when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
