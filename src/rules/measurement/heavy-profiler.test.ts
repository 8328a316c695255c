import { describe, expect, it } from 'vitest';
import { drawView, fires, H200, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule } from './heavy-profiler.js';

const STEP = `
  host 1  ProfilerStep#1 0-10000 | cudaLaunchKernel 10-20 #1 | cudaDeviceSynchronize 30-9990
  gpu 7   nvjet_tst_256 30-9980 #1`;
const STACKS = `${STEP}\nhost 1  train.py(12): forward 40-45 x50@10`;

const EXPECTED = { id: 'heavy-profiler', addresses: null, placed: false } as const;

describe('the profiler itself', () => {
  it('counts Python frames', () => {
    const found = fires(rule, drawView(steps(4, 10000, STACKS)), {
      ...EXPECTED,
      unit: 'frames/step',
    });
    expect(found.evidence[0]!.value).toBe(50);
    expect(found.price).toBeNull();
  });

  it.each(['with_stack', 'record_shapes', 'profile_memory', 'with_flops', 'with_modules'])(
    'names %s',
    (name) => {
      const view = drawView(steps(4, 10000, STEP), { header: { ...H200, [name]: 1 } });
      const found = fires(rule, view, { ...EXPECTED, unit: null });
      expect(found.evidence[0]!.text).toMatch(name);
    },
  );

  it('is silent when everything is off', () => {
    const header = { ...H200, with_stack: 0, record_shapes: 0 };
    expect(silence(rule, drawView(steps(4, 10000, STEP), { header }))).toMatch(/only what is needed/);
  });
});
