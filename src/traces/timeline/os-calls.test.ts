import { describe, expect, it } from 'vitest';
import { drawView, runOf } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { rule as hostPause } from '../../rules/host/host-pause.js';

/** 10 ms in a call of the system, then 10 ms of computing; the first launch is no copy. */
const step = (call: string, track = 1) => `
  host 1  ProfilerStep#1 0-20100 | cudaLaunchKernel 10010-10020 #1 | cudaDeviceSynchronize 10030-20050
  host ${track}  ${call} 10-10000
  gpu 7   nvjet_tst_256 10030-20030 #1`;
const view = (call: string, track = 1) => drawView(steps(6, 20100, step(call, track)));
const ms = (time: number) => Math.round(time / 1e6);

describe('calls of the operating system, from nsys', () => {
  it('calls of the operating system separate reading from other host time', () => {
    const { time } = view('read');
    expect([ms(time.idle_data), ms(time.idle_host)]).toEqual([10, 0]);
  });

  it.each(['poll', 'pthread_cond_wait', 'write'])('do not take %s for input', (call) => {
    const { time } = view(call);
    expect([ms(time.idle_data), ms(time.idle_host)]).toEqual([0, 10]);
  });

  it('calls of the operating system on other threads hold up nobody', () => {
    expect(ms(view('read', 5).time.idle_data)).toBe(0);
  });

  it.each([
    ['write', /9\d.*% of it in write\(\), which writes a file$/],
    ['pthread_cond_wait', /9\d.*% of it in pthread_cond_wait\(\), which waits for another thread$/],
    ['poll', /9\d.*% of it in poll\(\), which waits for another process or a device$/],
  ])('explain a pause: %s', (call, text) => {
    const drawn = view(call);
    const result = hostPause.check(drawn, runOf([drawn]));
    if (!('findings' in result)) throw new Error(result.silent);
    expect(result.findings[0]!.evidence[0]!.text).toMatch(text);
  });
});
