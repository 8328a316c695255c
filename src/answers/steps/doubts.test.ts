import { describe, expect, it } from 'vitest';
import { drawView, H200 } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { PHASES } from '../../../test/helpers/logged-view.js';
import { found } from '../../base/check.js';
import { ns, share } from '../../base/units.js';
import type { LogView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { DeviceKind } from '../../facts/accelerator.js';
import type { PhaseKnowledge } from '../../facts/rank-facts.js';
import { lasting, MAY_BE_HIDDEN, type StepTime } from '../../facts/step-facts.js';
import type { LoaderQueue } from '../../traces/detail/loader-queue.js';
import { applyDoubts, captureNext, DOUBT_CHECKS, type DoubtId, healthDoubt } from './doubts.js';
import { type Judgment, judgmentOf } from './shares.js';

/** Eight steps of 100 ms, 60 of them waiting for input. */
const VIEW = drawView(
  steps(
    8,
    100000,
    `
    host 1  ProfilerStep#1 0-100000 | enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__ 0-60000
    host 1  cudaLaunchKernel 60000-60010 #1 | cudaDeviceSynchronize 60020-99995
    gpu 7   nvjet_tst_256 60015-99990 #1`,
  ),
);
const TRUSTED = judgmentOf(VIEW, 0);
const MEASURED: StepTime = { ...VIEW.step, unprofiledBy: 'events' };

const traced = (view: Partial<TraceView>, more: Partial<Judgment> = {}): Judgment => ({
  ...TRUSTED,
  view: { ...VIEW, ...view },
  ...more,
});
const withFacts = (facts: Partial<TraceView['facts']>) => traced({ facts: { ...VIEW.facts, ...facts } });
const withSteps = (some: Partial<TraceView['facts']['steps']>) =>
  traced({ divided: { ...VIEW.divided, steps: { ...VIEW.facts.steps, ...some } } });
/** A step that takes this part of the recorded one without the profiler. */
const estimated = (part: number): StepTime => ({
  ...VIEW.step,
  unprofiled: ns(part * VIEW.step.recorded),
  unprofiledBy: 'replay',
});
/** Recorded, it waits for input. Without the profiler's cost it computes. */
const corrected = (part: number) =>
  traced({
    time: { ...VIEW.time, compute: ns(9e7), idle_data: ns(1e6) },
    step: estimated(part),
    baseline: null,
  });
const unexplained = (other: number): Judgment => ({
  ...TRUSTED,
  shares: { ...TRUSTED.shares, other: share(other) },
});
const RUNS_EMPTY = { taken: 4, delivered: 1.5, deliveredUnasked: 1.5 };
const NO_WORKERS = { ...VIEW.facts.input, inWorkers: 0, queue: null };
const BUSY = { ...TRUSTED.shares, gpu: share(0.9), data: share(0.01) };
const withQueue = (queue: LoaderQueue) => withFacts({ input: { ...VIEW.facts.input, queue } });
/** Between the two costs of recording that are possible, the host takes `low` to `high` ms of the step. */
const withHostBetween = (low: number, high: number, more: Partial<Judgment>) => {
  const baseline = {
    ...VIEW.baseline!,
    unprofiled: ns(0),
    unprofiledLow: ns(low * 1e6),
    unprofiledHigh: ns(high * 1e6),
  };
  return traced({ baseline }, more);
};
/** Copies take `ms` of the step of 100 ms; `name` says where they go, or not. */
const withCopies = (ms: number, name: string) => {
  const line = `gpu 7   ${name} 0-${ms * 1000} #2 | nvjet_tst_256 ${ms * 1000}-99990 #1`;
  const view = drawView(
    steps(
      8,
      100000,
      `
    host 1  ProfilerStep#1 0-100000 | cudaMemcpyAsync 0-10 #2 | cudaLaunchKernel 20-30 #1
    ${line}`,
    ),
  );
  return judgmentOf(view, 0);
};
const logged = (best: Judgment['best'], phases: Partial<PhaseKnowledge>): Judgment => {
  const knowledge = { ...PHASES, ...phases };
  const facts = { ...VIEW.facts, source: 'log', phases: knowledge };
  const divided = { by: 'log', steps: facts.steps, phases: knowledge };
  const view = { ...VIEW, source: 'log', facts, divided };
  return { ...TRUSTED, best, view: view as unknown as LogView };
};
/** A log, so short that nothing else is wrong with it. */
const shortRun = (count: number): Judgment => {
  const facts = { ...VIEW.facts, phases: null, steps: { ...VIEW.facts.steps, count } };
  const divided = { by: 'log', steps: facts.steps, phases: null };
  return { ...TRUSTED, view: { ...VIEW, source: 'log', facts, divided } as unknown as LogView };
};

/** What is left of a recording of a GPU job without the activity CUDA, and of one that lost all GPU work. */
const WITHOUT_GPU = 'host 1  ProfilerStep#1 0-100000 | aten::mm 0-9000';
const onlyHost = (drawing: string, best: Judgment['best'], header: Record<string, unknown> = H200) => ({
  ...TRUSTED,
  view: { ...drawView(steps(8, 100000, drawing), { header }), baseline: null },
  best,
});

/** The device's events are there, and not understood. */
const withUnread = (kind: DeviceKind): Judgment => {
  const judgment = onlyHost(WITHOUT_GPU, 'gpu', {});
  const accelerator = { kind, byNsys: false, kernels: 0, unread: 9 };
  return { ...judgment, view: { ...judgment.view, facts: { ...judgment.view.facts, accelerator } } };
};

const withNote = (code: string) => traced({ notes: found('warning', code, 1, '', '') });

/** The time before a batch is copied, where only optimizers mark steps. */
const unmarkedInput = (): Judgment => {
  const steps = { ...VIEW.facts.steps, source: 'optimizer' } as const;
  const facts = { ...VIEW.facts, input: { ...VIEW.facts.input, inferred: 4 }, steps };
  return traced({ facts, divided: { ...VIEW.divided, steps } as TraceView['divided'] });
};

/** The trace by itself has another answer. */
const otherwiseRecorded = (judgment: Judgment): Judgment => ({
  ...judgment,
  view: {
    ...judgment.view,
    facts: { ...judgment.view.facts, time: { ...judgment.view.facts.time, comms_wait: ns(1e12) } },
  } as typeof judgment.view,
});

/** The log has a lasting change, to so many times the recorded step. */
const changedTo = (times: number): Partial<TraceView> =>
  ({
    notes: found('warning', 'trace-differs', 1, '', ''),
    step: MEASURED,
    log: {
      facts: {
        change: {
          step: 9,
          before: 40 * MEASURED.recorded,
          after: times * MEASURED.recorded,
          isJump: true,
          grew: null,
        },
      },
    },
  }) as unknown as Partial<TraceView>;

/** What a check says, by hand: docs/method/confidence.md. */
const CASES: readonly (readonly [DoubtId, object, Judgment])[] = [
  ['unread-device', { atMost: 0.2 }, withUnread('npu')],
  ['unseen-gpu', { atMost: 0.4 }, onlyHost(WITHOUT_GPU, 'host')],
  ['unseen-gpu', { atMost: 0.4 }, onlyHost(WITHOUT_GPU, 'data')],
  ['unseen-gpu', { atMost: 0.55 }, onlyHost(WITHOUT_GPU, 'gpu')],
  ['unseen-gpu', { atMost: 0.4 }, onlyHost(`${WITHOUT_GPU} | cudaLaunchKernel 9100-9200 #1`, 'gpu', {})],
  ['unseen-gpu', { atMost: 0.4 }, onlyHost(`${WITHOUT_GPU} | aten::cudnn_convolution 9100-9200`, 'gpu', {})],
  ['unseen-gpu', { atMost: 0.4 }, onlyHost(`${WITHOUT_GPU} | aten::_mps_linear 9100-9200`, 'gpu', {})],
  ['profiler-cost', { by: 0.2 }, withHostBetween(0, 90, {})],
  ['profiler-cost', { by: 0.05 }, withHostBetween(0, 90, { second: 'host' })],
  [
    'profiler-attached',
    { by: 0.15 },
    traced({ notes: found('warning', 'step-with-profiler', 1, '', ''), step: MEASURED }, { best: 'host' }),
  ],
  ['trace-differs', { by: 0.05 }, withNote('trace-differs')],
  [
    'trace-differs',
    { by: 0.2 },
    otherwiseRecorded(traced({ notes: found('warning', 'trace-differs', 1, '', ''), step: MEASURED })),
  ],
  ['trace-differs', { by: 0.05 }, otherwiseRecorded(traced(changedTo(1.4)))],
  ['trace-differs', { by: 0.2 }, otherwiseRecorded(traced(changedTo(1.6)))],
  ['slowed-by-profiler', { by: 0.05 }, withNote('slowed-by-profiler')],
  ['only-copies', { atMost: 0.5 }, withFacts({ accelerator: { ...VIEW.facts.accelerator, kernels: 0 } })],
  ['no-steps', { by: 0.1, atMost: 0.5 }, withSteps({ source: 'window' })],
  ['inferred-steps', { atMost: 0.5 }, withSteps({ source: 'launches' })],
  ['unmarked-input', { atMost: 0.5 }, unmarkedInput()],
  ['cold-start', { atMost: 0.4 }, withFacts({ startUp: { time: ns(3e7), steps: 0, left: share(0.3) } })],
  [
    'little-recorded',
    { atMost: 0.4 },
    withFacts({ steps: { ...VIEW.facts.steps, total: 1 }, kernels: VIEW.facts.kernels.slice(0, 1) }),
  ],
  [
    'dropped-operators',
    { atMost: 0.6 },
    {
      ...TRUSTED,
      best: 'host',
      view: {
        ...VIEW,
        facts: { ...VIEW.facts, unprofiledShare: share(0.7), input: NO_WORKERS, detail: null },
        baseline: null,
      },
    },
  ],
  ['correction-decides', { atMost: 0.6 }, corrected(0.7)],
  ['correction-decides', { atMost: 0.5 }, corrected(0.45)],
  ['correction-at-its-limit', { atMost: 0.5 }, traced({ step: estimated(0.3) })],
  ['one-step', { by: 0.12, atMost: 0.75 }, withSteps({ count: 1 })],
  ['short-run', { atMost: 0.45 }, shortRun(2)],
  ['irregular-steps', { by: 0.1 }, withSteps({ irregular: true, count: 5 })],
  ['empty-window', { by: 0.6 }, traced({ step: lasting(MEASURED, 9999) })],
  ['empty-window', { by: 0.6 }, onlyHost('host 1  ProfilerStep#1 0-100000', 'host', {})],
  ['emptying-queue', { atMost: 0.55 }, { ...withQueue(RUNS_EMPTY), shares: BUSY }],
  ['untold-copies', { atMost: 0.45 }, withCopies(60, 'Memcpy')],
  [
    'filled-queue',
    { atMost: 0.75 },
    traced({ ...withSteps({ count: 7 }).view, baseline: null } as TraceView, { best: 'gpu' }),
  ],
  ['unexplained-idle', { by: 0.3 * 0.35 }, unexplained(0.35)],
  ['unexplained-idle', { by: 0.3 * 0.4, atMost: 0.5 }, unexplained(0.4)],
  ['replay-differs', { by: 0.1 }, traced({ baseline: { ...VIEW.baseline!, faithful: false } })],
  ['log-shows-less', { by: 0.1 }, logged('data', {})],
  ['log-shows-less', { by: 0.1 }, logged('comms', { hostPaced: ns(1) })],
  ['log-shows-less', { by: 0.1 }, logged('gpu', { allHost: true })],
  ['log-shows-less', { by: 0.1 }, logged('host', {})],
  ['log-shows-less', { atMost: 0.85 }, logged('gpu', { hostPaced: ns(1) })],
  ['log-hides-idle', { atMost: 0.6 }, logged('gpu', {})],
  ['no-model-phase', { atMost: 0.4 }, logged('gpu', { allHost: true, modelTimed: false })],
  ['host-pace-length', { atMost: 0.75 }, logged('host', { hostPaced: ns(1) })],
  ['hidden-delay', { by: 0.15 }, withNote(MAY_BE_HIDDEN)],
  ['no-host-events', { by: 0.25 }, withFacts({ hasHostEvents: false })],
];

const effectsOf = (judgment: Judgment) =>
  DOUBT_CHECKS.flatMap(({ id, check }) => {
    const effect = check(judgment);
    return effect ? [[id, effect]] : [];
  });

describe('doubts', () => {
  it('has none about eight regular steps', () => expect(effectsOf(TRUSTED)).toEqual([]));

  it.each(CASES)('%s %j', (id, effect, judgment) => {
    const others = id === 'no-model-phase' ? [['log-shows-less', { by: 0.1 }] as const] : [];
    const all = [[id, effect] as const, ...others];
    expect(effectsOf(judgment)).toEqual(all.map(([of, change]) => [of, { by: 0, atMost: 1, ...change }]));
  });

  it('has a case for every check', () => {
    expect(new Set(CASES.map(([id]) => id))).toEqual(new Set(DOUBT_CHECKS.map((c) => c.id)));
  });

  it.each<[string, Judgment]>([
    ['a log of three steps', shortRun(3)],
    ['copies of unknown direction that are few', withCopies(5, 'Memcpy')],
    ['copies inside the device', withCopies(60, 'Memcpy DtoD (Device -> Device)')],
    ['a machine without a GPU', onlyHost(WITHOUT_GPU, 'host', {})],
    ['no operator, but a wait for data', onlyHost('host 1  ProfilerStep#1 0-100000', 'data', {})],
    [
      'no GPU work, but capture knows that the job uses no GPU',
      {
        ...TRUSTED,
        view: {
          ...onlyHost(WITHOUT_GPU, 'host').view,
          log: { facts: { phases: { ...PHASES, allHost: true } } } as LogView,
        },
      },
    ],
    ['irregular, but six steps', withSteps({ irregular: true, count: 6 })],
    ['workers load and few steps, but data is named anyway', withSteps({ count: 7 })],
    ['the queue runs empty, but steps wait already', withQueue(RUNS_EMPTY)],
    ['half of the batches delivered', withQueue({ taken: 4, delivered: 2, deliveredUnasked: 2 })],
    ['two batches taken are too few', withQueue({ taken: 2, delivered: 0, deliveredUnasked: 0 })],
    ['30% of unexplained idle time', { ...TRUSTED, shares: { ...TRUSTED.shares, other: share(0.3) } }],
    [
      'another answer, but measured without the profiler',
      {
        ...withHostBetween(0, 90, {}),
        view: { ...withHostBetween(0, 90, {}).view, step: MEASURED } as TraceView,
      },
    ],
  ])('has none: %s', (_, judgment) => expect(effectsOf(judgment)).toEqual([]));

  it('subtracts amounts and then applies limits', () => {
    const { confidence, doubts } = applyDoubts(logged('gpu', {}), 0.97);
    expect(confidence).toBe(0.6);
    expect(doubts.map((d) => d.id)).toEqual(['log-hides-idle']);
    expect(applyDoubts(withSteps({ count: 1, irregular: true }), 0.9).confidence).toBe(0.75);
  });
});

describe('what settles a doubt', () => {
  const settles = (id: DoubtId, view: TraceView = VIEW) => {
    const { settledBy = null } = DOUBT_CHECKS.find((check) => check.id === id) as {
      settledBy?: string | ((view: TraceView) => string);
    };
    return typeof settledBy === 'function' ? settledBy(view) : settledBy;
  };

  it.each<[DoubtId, RegExp]>([
    ['profiler-cost', /event log/],
    ['filled-queue', /event log/],
    ['emptying-queue', /event log/],
    ['trace-differs', /^record a longer window.*--trace-active 20/],
    ['unseen-gpu', /^record with ProfilerActivity\.CPU and ProfilerActivity\.CUDA; .*attached$/],
    ['short-run', /at least 20 steps/],
    ['untold-copies', /export_chrome_trace/],
    ['unexplained-idle', /^record with Nsight Systems/],
  ])('of %s is known', (id, words) => expect(settles(id)).toMatch(words));

  it('is a look at the stacks of a job without GPU work', () => {
    const onCpu = { ...VIEW, facts: { ...VIEW.facts, hasGpuWork: false } };
    expect(settles('unexplained-idle', onCpu)).toMatch(/^look at its stacks/);
  });

  it('of a file that was cut is a whole one, before anything else', () => {
    const cut = healthDoubt({ code: 'lost-calls', message: 'cut' });
    expect(cut).toMatchObject({ id: 'cut-file', text: 'cut', comesFirst: true });
    expect(captureNext(VIEW, [...applyDoubts(TRUSTED, 1).doubts, cut])).toEqual([cut.settledBy]);
  });
});
