import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { inTurn, steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './host-pause.js';

/** 10 ms of computing, then 10 ms in which nothing is called. */
const PAUSES = `
  host 1  ProfilerStep#1 0-20100 | aten::mm 5-25 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-10050
  gpu 7   nvjet_tst_256 30-10030 #1`;
/** 20 tensors, 100 MB, go to the host before it. */
const CHECKPOINT = `
  host 1  ProfilerStep#1 0-20100 | aten::mm 5-25 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-8040
  host 1  cudaMemcpyAsync 8050-8145 #2 x20@100
  gpu 7   nvjet_tst_256 30-8030 #1 | Memcpy DtoH (Device -> Pageable) 8060-8140 #2 x20@100 bytes=5000000`;
/** One tensor of 100 MB, which the host waits for: something is done with it. */
const RESULTS = `
  host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10-20 #1 | aten::to 30-10050 | cudaMemcpyAsync 40-10040 #2
  gpu 7   nvjet_tst_256 30-8030 #1 | Memcpy DtoH (Device -> Pageable) 8040-10035 #2 bytes=100000000`;
const STEADY = PAUSES.replace('10050', '20090').replace('10030', '20080');

const EXPECTED = { id: 'host-pause', addresses: 'host', unit: 'ms/step', placed: true } as const;
const draw = (drawing: string) => drawView(steps(6, 20100, drawing));

describe('pauses of the host', () => {
  it('prices a step without the 10 ms outside PyTorch, and gives the position of a pause', () => {
    const found = fires(rule, draw(PAUSES), EXPECTED);
    expectGain(found, 20.1 / 10.1);
    expect(found.evidence[0]!.dur_ns! / 1e6).toBeCloseTo(10, 0);
    expect(found.evidence[0]!.step).toBe(1);
  });

  it('is silent where the GPU was not recorded: the host may wait for it', () => {
    const drawing = 'host 1  ProfilerStep#1 0-20100 | aten::mm 10-10050';
    expect(silence(rule, draw(drawing))).toMatch(/no GPU work was recorded/);
    fires(rule, drawView(steps(6, 20100, drawing), { header: {} }), EXPECTED);
  });

  it('gives pauses as a part of the step in which they were recorded', () => {
    const shorter = drawView(steps(6, 20100, PAUSES), { unprofiledMs: 9 });
    expect(fires(rule, shorter, EXPECTED).evidence[0]!.text).toMatch(/10\.\d ms per step \(50%\)$/);
  });

  it('gives no price to a pause in one of a few steps: how often it comes is not known', () => {
    const once = inTurn([STEADY, 20100], [STEADY, 20100], [PAUSES, 20100], [STEADY, 20100]);
    const found = fires(rule, drawView(once), { ...EXPECTED, unit: 'ms' });
    expect(found.price).toBeNull();
    expect(found.evidence[0]!.text).toMatch(/^1 pause in 4 steps, up to 10\.\d ms, .*, in one step only$/);
  });

  it.each([
    ['the host waits for the GPU', /do not pause/, STEADY],
    ['a large copy comes before it', /host-sync covers it/, RESULTS],
    ['the pause is a checkpoint', /a checkpoint being written/, CHECKPOINT],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
