import { describe, expect, it } from 'vitest';
import { drawView, fires, silence } from '../../../test/helpers/draw-run.js';
import { inTurn } from '../../../test/helpers/draw-trace.js';
import { ns } from '../../base/units.js';
import { rule as hostPause } from './host-pause.js';
import { rule as hostSync } from './host-sync.js';
import { rule } from './one-slow-step.js';

/** The host reads a value that the GPU takes 18 of 20 ms to compute. In one step of eight it comes 80 ms later. */
const step = (ms: number) => `
  host 1  ProfilerStep#1 0-${ms * 1000} | cudaLaunchKernel 10-20 #1 | aten::item 30-18060 | cudaMemcpyAsync 40-44 #2
  host 1  cudaStreamSynchronize 50-18050
  gpu 7   nvjet_tst_256 30-18030 #1 | Memcpy DtoH (Device -> Pageable) 18035-18037 #2 bytes=4`;
const draw = (lengths: readonly number[]) =>
  drawView(inTurn(...lengths.map((ms) => [step(ms), ms * 1000] as const)));
const SPIKE = [18.5, 18.5, 98.5, 18.5, 18.5, 18.5, 18.5, 18.5];
const EXPECTED = { id: 'one-slow-step', addresses: 'host', unit: 'ms', placed: true } as const;

describe('one slow step', () => {
  it('one slow step is reported with its place in the trace', () => {
    const found = fires(rule, draw(SPIKE), EXPECTED);
    expect(found.price).toBeNull();
    expect(found.evidence[0]).toMatchObject({ value: 80, step: 4 });
    expect(found.evidence[0]!.text).toMatch(/^step 4 took 98\.5 ms, the 7 others 18\.5 ms: one of 8/);
  });

  it('is silent where the job does as much again and again: the phase has a finding of its own', () => {
    const saves = { name: 'checkpoint', ns: ns(700e6), count: 10, longest: null, recurs: true, own: false };
    const times = {
      wall: ns(4e9),
      startUp: ns(0),
      training: ns(2e9),
      end: ns(0),
      steps: 100,
      iteration: null,
    };
    const view = draw(SPIKE);
    const saving = { ...view, job: { ...times, phases: [{ ...saves, call: null, line: null }] } };
    expect(silence(rule, saving)).toMatch(/the checkpoint in it explains that/);
    const short = { ...saves, ns: ns(100e6), call: null, line: null };
    expect(fires(rule, { ...view, job: { ...times, phases: [short] } }, EXPECTED).price).toBeNull();
  });

  it('gives no other rule a price', () => {
    expect(silence(hostSync, draw(SPIKE))).toMatch(/no read of a GPU value holds up the step/);
    expect(silence(hostPause, draw(SPIKE))).toMatch(/do not pause/);
  });

  it('is not there when all steps are alike', () => {
    expect(silence(rule, draw(SPIKE.map(() => 18.5)))).toMatch(/no single step/);
  });
});
