import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';

import type { LogView } from '../../diagnosis/ranks/rank-view.js';
import { totals } from '../../facts/time-class.js';
import { rule } from './host-sync.js';

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

const EXPECTED = { id: 'host-sync', addresses: 'host', unit: 'waits/step', placed: false } as const;

describe('reads of GPU values', () => {
  it('prices a step in which 10 ms of Python and 10 ms of computing overlap', () => {
    const found = fires(rule, drawView(steps(6, 20100, READS), { unprofiledMs: 20.1 }), EXPECTED);
    expectGain(found, 20.1 / 10.1);
    expect(found.evidence[0]!.value).toBe(1);
    expect(found.evidence[0]!.text).toMatch(/1 read \(\.item\(\)\)/);
  });

  it.each([
    ['result whose size depends on data', 'aten::nonzero'],
    ['other wait', 'aten::cpu'],
  ])('names %s', (text, operator) => {
    const view = drawView(steps(6, 20100, READS.replace('aten::item', operator)));
    expect(fires(rule, view, EXPECTED).evidence[0]!.text).toMatch(text);
  });

  it('tells how to fix sizes where they are what the host reads', () => {
    const fixOf = (operator: string) =>
      fires(rule, drawView(steps(6, 20100, READS.replace('aten::item', operator))), EXPECTED).fix!.code;
    expect(fixOf('aten::nonzero')).toContain('torch.where');
    expect(fixOf('aten::item')).toContain('.item()');
  });

  describe('of GradScaler', () => {
    const step = (before: string, after: string) => `
      host 1  ProfilerStep#1 0-20100 | ${before} 9980-10020 | cudaLaunchKernel 10000-10010 #1
      host 1  aten::item 10030-20060 | cudaMemcpyAsync 10040-10044 #2 | cudaStreamSynchronize 10050-20055
      host 1  ${after} 20062-20095 | cudaLaunchKernel 20070-20080 #3
      gpu 7   nvjet_tst_256 10050-20050 #1 | Memcpy DtoH (Device -> Pageable) 20051-20053 #2 bytes=4
      gpu 7   multi_tensor_apply_kernel 20082-20084 #3`;
    const found = (before: string, after: string) =>
      fires(rule, drawView(steps(6, 20100, step(before, after))), EXPECTED);
    const UNSCALES = 'aten::_amp_foreach_non_finite_check_and_unscale_';
    const UPDATES = 'Optimizer.step#AdamW.step';

    it('go with a fused optimizer or bf16', () => {
      const { fix, title, risk, evidence } = found(UNSCALES, UPDATES);
      expect(fix!.code).toMatch(/fused=True.*\n.*bfloat16/);
      expect(title).toMatch(/GradScaler/);
      expect(risk).toBe('numerics');
      expect(evidence[0]!.text).toMatch(/1 read \(\.item\(\)\) per step, all in scaler\.step\(\)/);
    });

    it.each([
      ['not after gradients are unscaled', 'aten::mm', UPDATES],
      ['not before the optimizer', UNSCALES, 'aten::add'],
    ])('are not reads %s', (_, before, after) => {
      expect(found(before, after).fix!.code).toMatch(/losses\.append/);
    });
  });

  it('keeps the wait of memory that is freed in every step: then the read costs nothing', () => {
    const frees = `${READS.replace('0-20100', '0-20300')}\n host 1  cudaFree 20100-20290`;
    expect(silence(rule, drawView(steps(6, 20300, frees)))).toMatch(
      /no read of a GPU value holds up the step/,
    );
  });

  it('takes away arithmetic on what was read: 5 ms of argmax on the host', () => {
    const arithmetic = `
      host 1  ProfilerStep#1 0-20100 | aten::mm 80-120 | cudaLaunchKernel 100-110 #1
      host 1  aten::to 130-15000 | cudaMemcpyAsync 140-14990 #2 | aten::argmax 15010-20010
      gpu 7   nvjet_tst_256 120-14950 #1 | Memcpy DtoH (Device -> Pageable) 14960-14980 #2 bytes=4000000`;
    const found = fires(rule, drawView(steps(6, 20100, arithmetic), { unprofiledMs: 20.1 }), EXPECTED);
    expectGain(found, 20.1 / (20.1 - 5.2));
  });

  it('takes away what is computed only to be read: 19 norms of 300 µs, each followed by 200 µs of reading', () => {
    const norms = `
      host 1  ProfilerStep#1 0-20000 | aten::mm 0-9990 | cudaLaunchKernel 9980-9985 #100
      host 1  aten::norm 10000-10295 x20@500 | cudaLaunchKernel 10280-10290 #1 x20@500
      host 1  aten::item 10300-10495 x20@500 | cudaMemcpyAsync 10480-10485 #30 x20@500
      host 1  cudaStreamSynchronize 10486-10494 x20@500
      gpu 7   nvjet_tst_256 9990-9991 #100 | reduce_kernel 10291-10292 #1 x20@500
      gpu 7   Memcpy DtoH (Device -> Pageable) 10488-10490 #30 x20@500 bytes=4`;
    const found = fires(rule, drawView(steps(6, 20000, norms), { unprofiledMs: 20 }), EXPECTED);
    // The first norm may be the loss: it stays, with the Python around it.
    expectGain(found, 20_000 / (9_985 + 315 + 5));
  });

  it('takes away the logging of a value that is sent back to the GPU: 4 ms', () => {
    const logged = (bytes: number) => `
      host 1  ProfilerStep#1 0-20000 | aten::mm 80-120 | cudaLaunchKernel 100-110 #1
      host 1  aten::item 130-10060 | cudaMemcpyAsync 140-144 #2 | cudaStreamSynchronize 150-10050
      host 1  aten::to 12000-12030 | cudaMemcpyAsync 12010-12020 #3
      host 1  aten::add_ 14000-14020 | cudaLaunchKernel 14010-14015 #4
      host 1  aten::addmm 14200-19000 | cudaLaunchKernel 18990-18995 #5
      gpu 7   nvjet_tst_256 120-10020 #1 | Memcpy DtoH (Device -> Pageable) 10022-10024 #2 bytes=4
      gpu 7   Memcpy HtoD (Pageable -> Device) 12015-12016 #3 bytes=${bytes}
      gpu 7   vectorized_elementwise_kernel 14020-14022 #4 | nvjet_tst_256 18996-19900 #5`;
    const likely = (bytes: number) =>
      fires(rule, drawView(steps(6, 20000, logged(bytes)), { unprofiledMs: 20 }), EXPECTED).price!.speedup
        .likely;
    expect(20_000 / likely(4)).toBeLessThan(20_000 / likely(400_000) - 3_000);
  });

  it('leaves the copies of a checkpoint to checkpoint-in-step', () => {
    const checkpoint = `
      host 1  ProfilerStep#1 0-20100 | aten::mm 5-25 | cudaLaunchKernel 10-20 #1 | cudaMemcpyAsync 8050-8145 #2 x20@100
      gpu 7   nvjet_tst_256 30-8030 #1 | Memcpy DtoH (Device -> Pageable) 8060-8140 #2 x20@100 bytes=5000000`;
    expect(silence(rule, drawView(steps(6, 20100, checkpoint)))).toMatch(/no read of a GPU value/);
  });

  it('takes away pauses in steps that copy one large tensor: something is done with it', () => {
    const results = `
      host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10-20 #1 | aten::to 30-10050 | cudaMemcpyAsync 40-10040 #2
      gpu 7   nvjet_tst_256 30-8030 #1 | Memcpy DtoH (Device -> Pageable) 8040-10035 #2 bytes=100000000`;
    const found = fires(rule, drawView(steps(6, 20100, results), { unprofiledMs: 20.1 }), EXPECTED);
    expectGain(found, 20.1 / 8);
  });

  it.each([
    ['the GPU is busy anyway', HARMLESS],
    ['nothing is read', READS.replace(/aten::item.*/, 'aten::add 10030-10040').replace(/ \| Memcpy.*/, '')],
  ])('is silent when %s', (_, drawing) => {
    expect(silence(rule, drawView(steps(6, 20100, drawing)))).toMatch(/no read of a GPU value/);
  });
});

describe('a metrics phase in an event log', () => {
  const log = (metrics: number) =>
    ({
      source: 'log',
      rank: 0,
      step: { unprofiled: 20e6 },
      time: totals((c) => (c === 'idle_sync' ? metrics : 0)),
    }) as unknown as LogView;

  it('is named from 3% of the step on', () => {
    const found = fires(rule, log(1e6), { ...EXPECTED, id: 'metrics-in-step', unit: 'ms/step' });
    expect(found.evidence[0]!.text).toBe('training_metrics: 1.00 ms per step (5.0%)');
    expect(silence(rule, log(0.5e6))).toBe('metrics are 2.5% of the step');
  });
});
