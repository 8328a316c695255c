import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawView, logged } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { PHASES } from '../../../test/helpers/logged-view.js';
import { ns } from '../../base/units.js';
import type { PhaseKnowledge } from '../../facts/rank-facts.js';
import {
  sumOfClasses,
  TIME_CLASSES,
  type TimeByClass,
  type TimeClass,
  totals,
} from '../../facts/time-class.js';
import { aboutDifference, differenceOf, directed, divideInside } from './join-log.js';
import { viewTrace } from './rank-view.js';

type Parts = Partial<Record<TimeClass, number>>;
const ms = (parts: Parts) => totals((c) => ns(1e6 * (parts[c] ?? 0)));
const ON_CPU: PhaseKnowledge = { ...PHASES, allHost: true };
const LAGS: PhaseKnowledge = { ...PHASES, hostPaced: ns(1) };

describe('what happens inside the phases of a log', () => {
  const onGpu = (time: TimeByClass) => ({ time, seesGpu: true });
  const onCpu = (time: TimeByClass) => ({ time, seesGpu: false });
  const trace = ms({ compute: 30, idle_host: 60, idle_sync: 10 });

  it('of a job without GPU is computing', () => {
    const log = ms({ compute: 10, idle_host: 90 });
    expect(divideInside(log, onCpu(trace), ON_CPU)).toEqual(log);
  });

  it('is what the trace shows where the log did not time the model', () => {
    const log = ms({ idle_other: 150, idle_host: 30, idle_data: 20 });
    expect(divideInside(log, onCpu(trace), ON_CPU)).toEqual(
      ms({ compute: 30, idle_host: 60, idle_sync: 10, idle_other: 80, idle_data: 20 }),
    );
    expect(divideInside(log, onGpu(trace), ON_CPU)).toEqual(log);
  });

  it('is divided as in the trace where the log has no lags', () => {
    const log = ms({ compute: 50, idle_data: 40, idle_other: 10 });
    expect(divideInside(log, onGpu(trace), PHASES)).toEqual(
      ms({ compute: 15, idle_host: 30, idle_sync: 5, idle_data: 40, idle_other: 10 }),
    );
  });

  it('is computing too in the part in which the host set the pace', () => {
    const log = ms({ compute: 5, idle_host: 195 });
    expect(divideInside(log, onGpu(trace), LAGS)).toEqual(ms({ compute: 30, idle_host: 160, idle_sync: 10 }));
    const busy = ms({ compute: 95, idle_host: 5 });
    expect(divideInside(busy, onGpu(trace), LAGS)).toEqual(ms({ compute: 95, idle_sync: 5 }));
  });

  it('is not known from a trace without the GPU, or without time', () => {
    const log = ms({ compute: 50, idle_data: 50 });
    expect(divideInside(log, onCpu(trace), PHASES)).toEqual(log);
    expect(divideInside(log, onGpu(ms({ idle_data: 5 })), PHASES)).toEqual(log);
  });

  it('always adds up to the log’s step, and waits are the log’s', () => {
    const time = fc.array(fc.nat(1000), { minLength: TIME_CLASSES.length, maxLength: TIME_CLASSES.length });
    const drawn = time.map((all) => totals((c) => all[TIME_CLASSES.indexOf(c)]!));
    fc.assert(
      fc.property(drawn, drawn, fc.constantFrom(ON_CPU, PHASES, LAGS), (log, inside, knowledge) => {
        const divided = divideInside(log, { time: inside, seesGpu: !knowledge.allHost }, knowledge);
        expect(sumOfClasses(divided)).toBeCloseTo(sumOfClasses(log), 6);
        for (const c of TIME_CLASSES) expect(divided[c]).toBeGreaterThanOrEqual(0);
        for (const c of ['idle_data', 'comms_transfer', 'comms_wait', 'idle_comms', 'copy'] as const)
          expect(divided[c]).toBe(log[c]);
      }),
    );
  });
});

describe('copies', () => {
  it('go the ways that the trace shows, else to the device', () => {
    expect(directed(ns(8), { toDevice: ns(3), toHost: ns(1) })).toEqual({ toDevice: 6, toHost: 2 });
    expect(directed(ns(8), { toDevice: ns(0), toHost: ns(0) })).toEqual({ toDevice: 8, toHost: 0 });
  });
});

describe('steps of a log and of a trace', () => {
  const own = { least: 60e6, most: 100e6, recorded: ns(100e6), time: ms({ compute: 90, idle_host: 10 }) };
  const log = (stepMs: number, parts: Parts, knowledge = PHASES) => ({
    ...logged(stepMs, ms(parts)),
    knowledge,
  });

  it.each<[number, 'step' | null]>([
    [39, 'step'],
    [41, null],
    [100, null],
    [149, null],
    [151, 'step'],
  ])('of %s ms and of 60 to 100 ms differ: %s', (stepMs, differs) => {
    expect(differenceOf(log(stepMs, { compute: stepMs }), own)).toBe(differs);
  });

  it('differ where a log without GPU finds much more time outside the model', () => {
    expect(differenceOf(log(145, { compute: 85, idle_host: 60 }, ON_CPU), own)).toBe('model');
    expect(differenceOf(log(110, { compute: 85, idle_host: 25 }, ON_CPU), own)).toBeNull();
    expect(differenceOf(log(100, { compute: 20, idle_data: 80 }, ON_CPU), own)).toBe('model');
    // Python between operators counts as the model's for a log, and the trace sees it.
    const inPython = { ...own, time: ms({ compute: 20, idle_host: 80 }) };
    expect(differenceOf(log(100, { compute: 95, idle_host: 5 }, ON_CPU), inPython)).toBeNull();
    expect(differenceOf(log(100, { compute: 60, idle_host: 40 }), own)).toBeNull();
    expect(differenceOf(log(100, { idle_other: 100 }, ON_CPU), own)).toBeNull();
  });

  it('do not differ where operators run outside the model’s phases', () => {
    expect(differenceOf(log(100, { compute: 5, idle_host: 95 }, ON_CPU), own)).toBeNull();
    expect(differenceOf(log(50, { compute: 5, idle_host: 45 }, ON_CPU), own)).toBeNull();
  });

  it('a trace that differs from its log is reported, with the figures', () => {
    const [step] = aboutDifference(log(200, { compute: 200 }), own, 'step');
    expect(step).toMatchObject({ severity: 'warning', code: 'trace-differs' });
    expect(step!.message).toMatch(/100 ms .*200 ms .*20 steps/);
    const [model] = aboutDifference(log(100, { compute: 40, idle_host: 60 }, ON_CPU), own, 'model');
    expect(model!.message).toMatch(/90% .*40%/);
    const [slowed] = aboutDifference(log(60, { compute: 60 }), own, null);
    expect(slowed).toMatchObject({ severity: 'note', code: 'slowed-by-profiler' });
    expect(aboutDifference(log(70, { compute: 70 }), own, null)).toEqual([]);
  });
});

/** 20 ms: kernels of 1 ms in all, and the host between them. */
const HOST_BOUND = `
  host 1  ProfilerStep#1 0-20000 | aten::relu 0-90 x200@100 | cudaLaunchKernel 50-60 #1 x200@100
  gpu 7   relu_elementwise 65-70 #1 x200@100`;

describe('the view of a trace that is not like the run', () => {
  const { facts } = drawView(steps(4, 20000, HOST_BOUND));

  it('has the log’s step and waits, and is divided by the trace inside its phases', () => {
    const view = viewTrace(0, facts, logged(100, ms({ compute: 40, idle_data: 60 })));
    expect(view).toMatchObject({
      step: { unprofiled: 100e6, unprofiledBy: 'events' },
      divided: { by: 'log', phases: null },
    });
    expect(view.time.idle_data).toBe(60e6);
    expect(view.time.compute + view.time.idle_host).toBeCloseTo(40e6, 0);
    expect(view.time.idle_host / view.time.compute).toBeGreaterThan(5);
    expect(view.notes.map((n) => n.code)).toEqual(['trace-differs']);
  });

  it('keeps the cost of recording that the trace itself suggests', () => {
    const alone = viewTrace(0, facts, null).baseline!;
    const differs = viewTrace(0, facts, logged(100, ms({ compute: 100 }))).baseline!;
    expect(differs.unprofiled).toBe(alone.unprofiled);
    expect(differs.recording).toEqual(alone.recording);
  });

  it('is not one where recording explains the difference', () => {
    const view = viewTrace(0, facts, logged(11, ms({ compute: 11 })));
    expect(view.divided.by).toBe('trace');
    expect(view.notes.map((n) => n.code)).toEqual(['slowed-by-profiler']);
  });
});
