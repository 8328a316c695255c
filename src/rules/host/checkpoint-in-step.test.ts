import { describe, expect, it } from 'vitest';
import { drawView, expectGainBetween, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './checkpoint-in-step.js';

/** 20 tensors, 100 MB, go to the host before it. */
const CHECKPOINT = `
  host 1  ProfilerStep#1 0-20100 | aten::mm 5-25 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-8040
  host 1  cudaMemcpyAsync 8050-8145 #2 x20@100
  gpu 7   nvjet_tst_256 30-8030 #1 | Memcpy DtoH (Device -> Pageable) 8060-8140 #2 x20@100 bytes=5000000`;

const EXPECTED = { id: 'checkpoint-in-step', addresses: 'host', unit: 'ms/step', placed: true } as const;
const draw = (drawing: string) => drawView(steps(6, 20100, drawing));

describe('a checkpoint inside the step', () => {
  it('finds pauses in steps that copy megabytes to the host', () => {
    const found = fires(rule, draw(CHECKPOINT), EXPECTED);
    expectGainBetween(found, 1.9, 20.1 / 8);
    expect(rule.info.fix.code).toMatch(/async_save/);
  });

  it.each([
    ['little is copied', CHECKPOINT.replace('bytes=5000000', 'bytes=4')],
    ['few tensors are copied', CHECKPOINT.replaceAll(' x20@100', '')],
  ])('is silent when %s', (_, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(/no checkpoint/);
  });
});
