import { describe, expect, it } from 'vitest';
import { check, drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { ns } from '../../base/units.js';
import type { LateRanks } from '../../run/lateness/late-ranks.js';
import { rule } from './exposed-collectives.js';

/** 10 ms of computing, 10 ms of all-reduce with nothing in parallel, then the optimizer. */
const EXPOSED = `
  host 1  ProfilerStep#1 0-25200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2 | cudaLaunchKernel 50-60 #3
  host 1  cudaDeviceSynchronize 70-25110
  gpu 7   nvjet_tst_256 100-10100 #1 | multi_tensor_apply_kernel 20110-25100 #3
  gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL 10105-20105 #2`;
const OVERLAPPED = EXPOSED.replace('100-10100', '100-20105');

const EXPECTED = { id: 'exposed-collectives', addresses: 'comms', unit: 'ms/step', placed: false } as const;
const view = drawView(steps(4, 25200, EXPOSED));

describe('exposed collectives', () => {
  it('exposed collectives are named with the most that hiding them could gain', () => {
    const found = fires(rule, view, EXPECTED);
    expect(found.evidence[0]!.value).toBeCloseTo(10, 1);
    expect(found.fix!.text).toMatch(/up to 10\.0 ms shorter/);
    expect(found.fix!.code).toMatch(/bucket_cap_mb/);
    expect(found.price).toBeNull();
  });

  it('exposed collectives are named with the gain of hiding them if all ranks were replayed', () => {
    const across = { late: [], steps: 8, links: [], overlap: ns(7.5e6) };
    expect(JSON.stringify(check(rule, view, { across }))).toContain('the step gets 7.50 ms shorter');
  });

  it('are none where all of it is waiting for a late rank', () => {
    const { comms_transfer, idle_comms } = view.time;
    const waiting = { ...view.time, comms_transfer: ns(0), idle_comms: ns(0) };
    const waits = { ...view, time: { ...waiting, comms_wait: ns(comms_transfer + idle_comms) } };
    const across = { steps: 8, links: [], overlap: null };
    const someone = { ranks: [1] } as unknown as LateRanks;
    expect(check(rule, waits, { across: { ...across, late: [someone] } })).toEqual({
      silent: expect.stringMatching(/all but waiting for a late rank is 0/),
    });
    // Waiting that nobody is to blame for can still be hidden, and so can transfers next to a late rank.
    expect(check(rule, waits, { across: { ...across, late: [] } })).toHaveProperty('findings');
    expect(check(rule, view, { across: { ...across, late: [someone] } })).toHaveProperty('findings');
  });

  it('are none when computation hides them', () => {
    expect(silence(rule, drawView(steps(4, 25200, OVERLAPPED)))).toMatch(/exposed communication is \d/);
  });
});
