import { describe, expect, it } from 'vitest';
import { drawView, type Expected, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { rule } from './scalar-collectives.js';

/** Gradients, then loss, norm and token count one by one. */
const ONE_BY_ONE = `
  host 1  ProfilerStep#1 0-10200 | cudaLaunchKernel 10-20 #1 | cudaLaunchKernel 30-40 #2 | cudaLaunchKernel 50-55 #3 x3@10
  host 1  cudaDeviceSynchronize 90-10150
  gpu 7   nvjet_tst_256 100-8100 #1
  gpu 20  ncclDevKernel_AllReduce_Sum_bf16_RING_LL 8100-9100 #2 elements=4000000 dtype=BFloat16
  gpu 20  ncclDevKernel_AllReduce_Sum_f32_RING_LL 9100-9130 #3 x3@30 elements=1 dtype=Float`;

const ON_HOST = `
  host 1  ProfilerStep#1 0-10200 | aten::addmm 100-8100
  host 1  gloo:all_reduce 8200-9200 elements=4000000 dtype=Float
  host 1  gloo:all_reduce 9300-9500 x3@250 elements=1 dtype=Float`;

const EXPECTED: Expected = {
  id: 'scalar-collectives',
  addresses: 'comms',
  unit: 'collectives/step',
  placed: false,
};

describe('scalar collectives', () => {
  it('finds three collectives of one number', () => {
    const found = fires(rule, drawView(steps(3, 10200, ONE_BY_ONE)), EXPECTED);
    expect(found.evidence[0]!.value).toBe(3);
    expect(found.evidence[0]!.text).toMatch(/3 of 4 collectives/);
  });

  it('finds collectives on the host (gloo)', () => {
    const view = drawView(steps(3, 10200, ON_HOST));
    expect(fires(rule, view, EXPECTED).evidence[0]!.text).toMatch(
      /3 of 4 .*: 0.60 ms per step of them is exposed/,
    );
  });

  it.each([
    [
      'one collective carries them all',
      /carry tensors/,
      ONE_BY_ONE.replaceAll(' x3@30', '').replace(' x3@10', ''),
    ],
    ['they carry tensors', /carry tensors/, ONE_BY_ONE.replace('elements=1', 'elements=65536')],
    ['sizes are not recorded', /not recorded/, ONE_BY_ONE.replace(/ elements=\d+/g, '')],
    ['there are none', /no collectives/, ONE_BY_ONE.replaceAll('ncclDevKernel', 'relu_elementwise')],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(steps(3, 10200, drawing)))).toMatch(reason);
  });

  it('prices those that capture counts, for backends that do not record sizes: 24 become one', () => {
    const view = loggedView({ comms_transfer: 10, compute: 3 });
    const smallCollectives = { steps: 10, calls: 250, small: 240, smallMs: 100, short: 240, shortMs: 100 };
    const run = { captured: new Map([[0, { cores: null, loader: null, smallCollectives }]]) };
    const counted = {
      id: 'scalar-collectives',
      addresses: 'comms',
      unit: 'collectives/step',
      placed: false,
    } as const;
    const found = fires(rule, view, counted, run);
    expect(found.evidence[0]!.text).toMatch(/^24 of 25 collectives .* 10\.0 ms per step in them/);
    expectGain(found, 13 / (13 - 10 * 0.85));
    const few = { ...smallCollectives, small: 10 };
    const other = { captured: new Map([[0, { cores: null, loader: null, smallCollectives: few }]]) };
    expect(silence(rule, view, other)).toMatch(/not counted/);
  });
});
