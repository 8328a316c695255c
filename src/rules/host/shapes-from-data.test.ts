import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './shapes-from-data.js';

/** Five results whose size depends on data, 30 µs each after 20 ms of computing. */
const SHAPES = `
  host 1  ProfilerStep#1 0-20300 | aten::mm 0-30 | cudaLaunchKernel 10-20 #1 | cudaStreamSynchronize 40-20060
  host 1  aten::nonzero 20070-20098 x5@30 | cudaMemcpyAsync 20074-20078 #2 x5@30 | cudaStreamSynchronize 20080-20092 x5@30
  gpu 7   nvjet_tst_256 40-20050 #1 | Memcpy DtoH (Device -> Pageable) 20082-20084 #2 x5@30 bytes=8`;
/** The same with 2 ms of Python before each: without the waits they would overlap the computing. */
const COSTLY = `
  host 1  ProfilerStep#1 0-20300 | aten::mm 0-30 | cudaLaunchKernel 10-20 #1 | cudaStreamSynchronize 40-10060
  host 1  aten::nonzero 12070-12098 x5@1600 | cudaMemcpyAsync 12074-12078 #2 x5@1600 | cudaStreamSynchronize 12080-12092 x5@1600
  gpu 7   nvjet_tst_256 40-10050 #1 | Memcpy DtoH (Device -> Pageable) 12082-12084 #2 x5@1600 bytes=8`;

describe('shapes that depend on values', () => {
  it('are named even where they cost little', () => {
    const expected = {
      id: 'shapes-from-data',
      addresses: 'host',
      unit: 'waits/step',
      placed: false,
    } as const;
    const found = fires(rule, drawView(steps(6, 20300, SHAPES)), expected);
    expect(found.evidence[0]!.value).toBe(5);
    expect(found.price).toBeNull();
  });

  it.each([
    ['they are few', /few shapes/, SHAPES.replaceAll('x5@30', 'x2@30')],
    ['the waits themselves have a price', /host-sync covers/, COSTLY],
  ])('are not named when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(6, 20300, drawing)))).toMatch(reason);
  });
});
