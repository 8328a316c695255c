import { describe, expect, it } from 'vitest';
import { readTrace } from '../../test/helpers/read-trace.js';
import { Trace } from '../model/trace.js';
import { recordedProcess } from './recorded-process.js';

const event = (cat: string, i: number, args: object) => ({
  ph: 'X',
  cat,
  name: 'x',
  pid: 4711,
  tid: 1,
  ts: i,
  dur: 1,
  args,
});
/** Operators and calls, with ids from `external` and `correlation` on. */
function recorded(external: number, correlation: number, operators = 200, calls = 200, call = 'x') {
  const events = [
    ...Array.from({ length: operators }, (_, i) => event('cpu_op', i, { 'External id': external + i })),
    ...Array.from({ length: calls }, (_, i) => ({
      ...event('cuda_runtime', i, { correlation: correlation + 3 * i }),
      name: call,
    })),
  ];
  return recordedProcess(new Trace(readTrace(JSON.stringify({ traceEvents: events })).trace));
}

describe('recordedProcess', () => {
  it('a process is recorded for the first time if ids begin at the beginning, however long the profiler warmed up', () => {
    expect(recorded(2, 40)).toEqual({ pid: '4711', wasAttached: false });
    expect(recorded(5, 800_000)).toEqual({ pid: '4711', wasAttached: false });
  });

  it('a recording is a later one if its ids do not begin at the beginning', () => {
    expect(recorded(514, 9000)).toEqual({ pid: '4711', wasAttached: true });
  });

  it('an AMD GPU has no CUPTI that stays attached', () => {
    expect(recorded(514, 9000, 200, 200, 'cudaLaunchKernel').wasAttached).toBe(true);
    expect(recorded(514, 9000, 200, 200, 'hipLaunchKernel').wasAttached).toBe(false);
  });

  it('a recording counts as the first one if CUPTI was detached in between', () => {
    expect(recorded(514, 200)).toEqual({ pid: '4711', wasAttached: false });
  });

  it('it is not known which recording it is from few operators, without calls, or without events', () => {
    expect(recorded(20_000, 9000, 99).wasAttached).toBeNull();
    expect(recorded(20_000, 9000, 200, 0).wasAttached).toBeNull();
    expect(recorded(1, 1, 0, 0)).toEqual({ pid: null, wasAttached: null });
  });
});
