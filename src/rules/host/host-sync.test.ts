import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { ns } from '../../base/units.js';
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
      step: ns(20e6),
      time: totals((c) => (c === 'idle_sync' ? metrics : 0)),
    }) as LogView;

  it('is named from 3 % of the step on', () => {
    const found = fires(rule, log(1e6), { ...EXPECTED, id: 'metrics-in-step', unit: 'ms/step' });
    expect(found.evidence[0]!.text).toBe('training_metrics: 1.00 ms a step (5.0 %)');
    expect(silence(rule, log(0.5e6))).toBe('metrics are 2.5 % of the step');
  });
});
