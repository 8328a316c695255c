import { describe, expect, it } from 'vitest';
import { check, drawView, expectGain, fires, runOf, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { ns } from '../../base/units.js';
import { syncsAndCollectives } from './t23-syncs-and-collectives.js';

/** 10 ms of Python, then 10 ms of computing, for which .item() waits: neither overlaps the other. */
const READS = `
  host 1  ProfilerStep#1 0-20100 | aten::mm 9980-10020 | cudaLaunchKernel 10000-10010 #1
  host 1  aten::item 10030-20090 | cudaMemcpyAsync 10040-10044 #2 | cudaStreamSynchronize 10050-20080
  gpu 7   nvjet_tst_256 10050-20050 #1 | Memcpy DtoH (Device -> Pageable) 20060-20062 #2 bytes=4`;
/** The same read with 0.1 ms of Python: the GPU hardly notices. */
const HARMLESS = `
  host 1  ProfilerStep#1 0-20100 | aten::mm 80-120 | cudaLaunchKernel 100-110 #1
  host 1  aten::item 130-20090 | cudaMemcpyAsync 140-144 #2 | cudaStreamSynchronize 150-20080
  gpu 7   nvjet_tst_256 120-20050 #1 | Memcpy DtoH (Device -> Pageable) 20060-20062 #2 bytes=4`;
/** Five results whose size depends on data, 30 µs each after 20 ms of computing. */
const SHAPES = `
  host 1  ProfilerStep#1 0-20300 | aten::mm 0-30 | cudaLaunchKernel 10-20 #1 | cudaStreamSynchronize 40-20060
  host 1  aten::nonzero 20070-20098 x5@30 | cudaMemcpyAsync 20074-20078 #2 x5@30 | cudaStreamSynchronize 20080-20092 x5@30
  gpu 7   nvjet_tst_256 40-20050 #1 | Memcpy DtoH (Device -> Pageable) 20082-20084 #2 x5@30 bytes=8`;
/** 10 ms of computing, 10 ms of all-reduce with nothing beside it, then the optimizer. */
const EXPOSED = `
  host 1  ProfilerStep#1 0-25200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2 | cudaLaunchKernel 50-60 #3
  host 1  cudaDeviceSynchronize 70-25110
  gpu 7   nvjet_tst_256 100-10100 #1 | multi_tensor_apply_kernel 20110-25100 #3
  gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL 10105-20105 #2`;
const OVERLAPPED = EXPOSED.replace('100-10100', '100-20105');

describe('T23: reads', () => {
  const expected = { id: 'host-sync', addresses: 'host', unit: 'waits/step', placed: false } as const;

  it('prices a step in which 10 ms of Python and 10 ms of computing overlap', () => {
    const found = fires(
      syncsAndCollectives,
      drawView(steps(6, 20100, READS), { unprofiledMs: 20.1 }),
      expected,
    );
    expectGain(found, 20.1 / 10.1);
    expect(found.evidence[0]!.value).toBe(1);
    expect(found.evidence[0]!.text).toMatch(/1 reads \(\.item\(\)\)/);
  });

  it.each([
    ['results whose size depends on data', 'aten::nonzero'],
    ['other waits', 'aten::cpu'],
  ])('names %s', (text, operator) => {
    const drawing = READS.replace('aten::item', operator);
    expect(
      fires(syncsAndCollectives, drawView(steps(6, 20100, drawing)), expected).evidence[0]!.text,
    ).toMatch(text);
  });

  it('names shapes that depend on data even where they cost little', () => {
    const found = fires(syncsAndCollectives, drawView(steps(6, 20300, SHAPES)), {
      ...expected,
      id: 'shapes-from-data',
    });
    expect(found.evidence[0]!.value).toBe(5);
    expect(found.price).toBeNull();
  });

  it.each([
    ['the GPU is busy anyway', HARMLESS],
    ['nothing is read', READS.replace(/aten::item.*/, 'aten::add 10030-10040').replace(/ \| Memcpy.*/, '')],
  ])('is silent when %s', (_, drawing) => {
    expect(silence(syncsAndCollectives, drawView(steps(6, 20100, drawing)))).toMatch(/no read or collective/);
  });
});

describe('T23: collectives', () => {
  it('finds communication with no computation beside it', () => {
    const expected = {
      id: 'exposed-collectives',
      addresses: 'comms',
      unit: 'ms/step',
      placed: false,
    } as const;
    const found = fires(syncsAndCollectives, drawView(steps(4, 25200, EXPOSED)), expected);
    expect(found.evidence[0]!.value).toBeCloseTo(10, 1);
    expect(found.fix!.code).toMatch(/bucket_cap_mb/);
    expect(found.price).toBeNull();
  });

  it('is silent when computation hides it', () => {
    expect(silence(syncsAndCollectives, drawView(steps(4, 25200, OVERLAPPED)))).toMatch(
      /no read or collective/,
    );
  });
});

describe('T23: communication', () => {
  const step = (more: string) => `
    host 1  ProfilerStep#1 0-20000 | aten::mm 0-100 | cudaLaunchKernel 50-60 #1 | cudaLaunchKernel 80-90 #2${more}
    gpu 7   nvjet_tst_256 70-8000 #1
    gpu 9   ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>) 8000-19000 #2`;

  it('names collectives that nothing hides, and what hiding them could bring', () => {
    const view = drawView(steps(4, 20000, step('')));
    const found = fires(syncsAndCollectives, view, {
      id: 'exposed-collectives',
      addresses: 'comms',
      unit: 'ms/step',
      placed: false,
    });
    expect(found.price).toBeNull();
    expect(found.fix!.text).toMatch(/up to 1\d\.\d ms shorter/);
  });

  it('says what hiding them brings where all ranks were played', () => {
    const view = drawView(steps(4, 20000, step('')));
    const across = { late: [], step: ns(20e6), links: [], overlap: ns(7.5e6) };
    const result = syncsAndCollectives.check(view, { ...runOf([view]), across });
    expect(JSON.stringify(result)).toContain('would be 7.50 ms shorter');
  });

  it('names a search for unused parameters', () => {
    const search = ' | torch.distributed.ddp.reducer::search_unused_parameters 19000-19500';
    const result = check(syncsAndCollectives, drawView(steps(4, 20000, step(search))));
    expect(JSON.stringify(result)).toContain('find-unused-parameters');
  });
});
