import { delimiter } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jobEnvironment, pythonPart, settingsOf } from './environment.js';

const given = { out: '/runs/a', run: 'r1', command: ['python', 'a b.py'], settings: {} };

describe('the environment of a job', () => {
  it('puts our start-up code first and says where to write', () => {
    const env = jobEnvironment({ HOME: '/h', PYTHONPATH: '/mine' }, given);
    const { source, startUp } = pythonPart();
    expect(env).toEqual({
      HOME: '/h',
      WHYSLOW_INJECT: '1',
      WHYSLOW_OUT: '/runs/a',
      WHYSLOW_RUN: 'r1',
      WHYSLOW_COMMAND: '["python","a b.py"]',
      WHYSLOW_PYTHON: source,
      KINETO_LOG_LEVEL: '6',
      PYTHONPATH: `${startUp}${delimiter}/mine`,
    });
    expect(startUp).toMatch(/python\/src\/whyslow_capture\/inject\/site$/);
  });

  it.each([{}, { PYTHONPATH: '' }])(
    'has no empty entry in PYTHONPATH for %j: it would be the current directory',
    (env) => {
      expect(jobEnvironment(env, given).PYTHONPATH).toBe(pythonPart().startUp);
    },
  );

  it('leaves out a command that is too long to repeat', () => {
    const command = ['python', '-c', 'x'.repeat(2000)];
    expect(jobEnvironment({}, { ...given, command }).WHYSLOW_COMMAND).toBeUndefined();
  });

  it('keeps settings of the environment unless an option overrides them', () => {
    const before = { WHYSLOW_RECORD_EVERY_N_STEPS: '7', WHYSLOW_START_STEP: '3' };
    const env = jobEnvironment(before, { ...given, settings: settingsOf({ every: 2 }) });
    expect(env).toMatchObject({ WHYSLOW_RECORD_EVERY_N_STEPS: '2', WHYSLOW_START_STEP: '3' });
  });
});

describe('options as settings', () => {
  it('sets nothing that was not asked for', () => {
    expect(settingsOf({})).toEqual({});
  });

  it('translates all of them', () => {
    expect(
      settingsOf({ every: 5, startStep: 0, endStep: 90, maxOverhead: 0.01, ranks: [0, 5], trace: true }),
    ).toEqual({
      record_every_n_steps: '5',
      start_step: '0',
      end_step: '90',
      max_overhead: '0.01',
      ranks: '0,5',
      'trace.enabled': '1',
    });
  });

  it('record shapes with --shapes, and a window with them', () => {
    const expected = { 'trace.enabled': '1', 'trace.record_shapes': '1' };
    expect(settingsOf({ shapes: true })).toEqual(expected);
    expect(settingsOf({ traceShapes: true })).toEqual(expected);
  });

  it('turns traces on when any trace option is given', () => {
    expect(settingsOf({ tracePeriod: 100, traceRanks: 'all', traceFlops: true, traceBudgetMb: 512 })).toEqual(
      {
        'trace.enabled': '1',
        'trace.period': '100',
        'trace.ranks': 'all',
        'trace.with_flops': '1',
        'trace.budget_mb': '512',
      },
    );
  });
});
