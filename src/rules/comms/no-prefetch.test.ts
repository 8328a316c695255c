import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule as exposedCollectives } from './exposed-collectives.js';
import { rule } from './no-prefetch.js';

/** 10 ms of gathering parameters, then 10 ms of computing with them. */
const GATHERS = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-35 #2
  host 1  cudaDeviceSynchronize 50-20150
  gpu 20  ncclDevKernel_AllGather_RING_LL 50-10050 #1 elements=25000000 dtype=BFloat16
  gpu 7   nvjet_tst_256 10060-20060 #2`;
const draw = (drawing: string) => drawView(steps(4, 20200, drawing));

describe('parameters that are not prefetched', () => {
  it('are named with the exposed time of gathering them', () => {
    const expected = { id: 'no-prefetch', addresses: 'comms', unit: 'ms/step', placed: false } as const;
    const found = fires(rule, draw(GATHERS), expected);
    expect(found.evidence[1]!.text).toMatch(/^all_gather: (?:9\.9|10\.0)\d? ms per step of it/);
    expect(found.fix!.code).toMatch(/forward_prefetch/);
    expect(silence(exposedCollectives, draw(GATHERS))).toMatch(/more specific/);
  });

  it('are not named in a recording of forward passes: tensor parallelism gathers too', () => {
    const view = draw(GATHERS);
    const program = { ...view.facts.program, task: 'inference' } as const;
    const forward = { ...view, facts: { ...view.facts, program } };
    for (const one of [rule, exposedCollectives])
      expect(silence(one, forward)).toMatch(/forward passes only/);
  });

  it.each([
    ['gradients are reduced', /little of/, GATHERS.replace('AllGather', 'AllReduce_Sum_bf16')],
    ['gathering is hidden', /exposed communication is/, GATHERS.replace('10060-20060', '50-20060')],
  ])('are not named when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
