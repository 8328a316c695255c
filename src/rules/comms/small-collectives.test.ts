import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import type { SmallCollectives } from '../../model/manifest.js';
import { rule as exposedCollectives } from './exposed-collectives.js';
import { rule as scalarCollectives } from './scalar-collectives.js';
import { rule } from './small-collectives.js';

/** 10 ms of computing, then forty all_reduces of 100 kB, 0.25 ms each, with nothing in parallel. */
const SMALL = `
  host 1  ProfilerStep#1 0-20200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-35 #2 x40@10
  host 1  cudaDeviceSynchronize 450-20150
  gpu 7   nvjet_tst_256 100-10100 #1
  gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL 10100-10350 #2 x40@250 elements=25000 dtype=Float`;
const draw = (drawing: string) => drawView(steps(4, 20200, drawing));

describe('small collectives', () => {
  it('are counted, with their median size', () => {
    const expected = { id: 'small-collectives', addresses: 'comms', unit: 'ms/step', placed: false } as const;
    const found = fires(rule, draw(SMALL), expected);
    expect(found.evidence[1]).toMatchObject({ text: '40 all_reduces per step, median 100 kB', value: 40 });
    expect(found.fix!.text).toMatch(/larger buckets.*shorter/);
    expect(silence(exposedCollectives, draw(SMALL))).toMatch(/more specific/);
  });

  it('are counted by capture where the backend records no sizes, and priced: 160 become one', () => {
    const view = loggedView({ comms_transfer: 10, compute: 3 });
    const run = (smallCollectives: SmallCollectives) => ({
      captured: new Map([[0, { cores: null, loader: null, smallCollectives }]]),
    });
    const counted = { steps: 10, calls: 1600, small: 800, smallMs: 40, short: 1600, shortMs: 100 };
    const expected = { id: 'small-collectives', addresses: 'comms', placed: false } as const;
    const found = fires(rule, view, { ...expected, unit: 'collectives/step' }, run(counted));
    expectGain(found, 13 / (13 - 10 * 0.85));
    expect(found.fix!.text).toMatch(/DistributedDataParallel.*one tensor/);
    for (const other of [scalarCollectives, exposedCollectives])
      expect(silence(other, view, run(counted))).toMatch(/covers them|more specific/);
    // Single numbers alone are scalar-collectives.
    expect(silence(rule, view, run({ ...counted, small: 1600 }))).toMatch(/few or large/);
  });

  it.each([
    ['they are large', /few or large/, SMALL.replace('elements=25000', 'elements=25000000')],
    ['they are few', /few or large/, SMALL.replaceAll(/ x40@\d+/g, '').replace('10100-10350', '10100-20100')],
    ['nothing is exposed', /exposed communication is/, SMALL.replace('100-10100', '100-20100')],
  ])('are not named when %s', (_, reason, drawing) => {
    expect(silence(rule, draw(drawing))).toMatch(reason);
  });
});
