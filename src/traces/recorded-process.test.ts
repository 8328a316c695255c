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
function recorded(external: number, correlation: number, operators = 200, calls = 200) {
  const events = [
    ...Array.from({ length: operators }, (_, i) => event('cpu_op', i, { 'External id': external + i })),
    ...Array.from({ length: calls }, (_, i) =>
      event('cuda_runtime', i, { correlation: correlation + 3 * i }),
    ),
  ];
  return recordedProcess(new Trace(readTrace(JSON.stringify({ traceEvents: events })).trace));
}

describe('recordedProcess', () => {
  it('is a first recording if ids begin at the beginning, however long the profiler warmed up', () => {
    expect(recorded(2, 40)).toEqual({ pid: '4711', wasAttached: false });
    expect(recorded(5, 800_000)).toEqual({ pid: '4711', wasAttached: false });
  });

  it('is a later one if they do not', () => {
    expect(recorded(514, 9000)).toEqual({ pid: '4711', wasAttached: true });
  });

  it('is fresh if CUPTI was detached in between', () => {
    expect(recorded(514, 200)).toEqual({ pid: '4711', wasAttached: false });
  });

  it('is not known from few operators, without calls, or without events', () => {
    expect(recorded(20_000, 9000, 99).wasAttached).toBeNull();
    expect(recorded(20_000, 9000, 200, 0).wasAttached).toBeNull();
    expect(recorded(1, 1, 0, 0)).toEqual({ pid: null, wasAttached: null });
  });
});
