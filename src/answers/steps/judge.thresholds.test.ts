import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { PHASES } from '../../../test/helpers/logged-view.js';
import { ns } from '../../base/units.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { PhaseKnowledge } from '../../facts/rank-facts.js';
import type { StepFacts } from '../../facts/step-facts.js';
import { lasting, type StepTime } from '../../facts/step-facts.js';
import { type TimeClass, totals } from '../../facts/time-class.js';
import { judge } from './judge.js';

/** Where answers change, with shares given by hand. Eight steps of 100 ms, measured without the profiler. */
const drawn = drawView(
  steps(
    8,
    100_000,
    'host 1  ProfilerStep#1 0-100000 | cudaLaunchKernel 0-10 #1\ngpu 7  nvjet_tst_256 20-99990 #1',
  ),
  { unprofiledMs: 100 },
);
type Parts = Partial<Record<TimeClass, number>>;
const ESTIMATED: StepTime = { ...drawn.step, unprofiledBy: 'replay' };
const NO_COPIES = { toDevice: ns(0), toHost: ns(0) };
const divided = (parts: Parts): TraceView => {
  const time = totals((c) => ns(1e8 * (parts[c] ?? 0)));
  return { ...drawn, facts: { ...drawn.facts, time }, time, copies: NO_COPIES };
};
const judged = (time: Parts, lateComputing?: number) => judge(divided(time), lateComputing);

/** Named with confidence 0.97 less the doubts: nothing else comes near. */
const CLEAR = { idle_data: 0.8, compute: 0.2 } as const;

describe('shares', () => {
  it('are of who could win the time back', () => {
    const view = {
      ...divided({
        compute: 0.1,
        copy: 0.3,
        idle_data: 0.1,
        comms_transfer: 0.05,
        comms_wait: 0.06,
        idle_comms: 0.07,
      }),
      copies: { toDevice: ns(0.1e8), toHost: ns(0.05e8) },
    };
    const { shares } = judge({
      ...view,
      time: {
        ...view.time,
        idle_host: ns(0.08e8),
        idle_sync: ns(0.04e8),
        idle_compile: ns(0.1e8),
        idle_other: ns(0.1e8),
      },
    });
    // Of 0.3 of copies 0.1 go to the device and 0.05 to the host; the rest stays on the device.
    expect(shares.gpu).toBeCloseTo(0.1 + 0.15, 9);
    expect(shares.data).toBeCloseTo(0.1 + 0.1, 9);
    expect(shares.comms).toBeCloseTo(0.05 + 0.06 + 0.07, 9);
    expect(shares.host).toBeCloseTo(0.08 + 0.04 + 0.1 + 0.05, 9);
    expect(shares.other).toBeCloseTo(0.1, 9);
  });
});

describe('another class than the GPU', () => {
  it('must take a quarter of what the GPU computes', () => {
    expect(judged({ compute: 0.79, idle_data: 0.21 }).bottleneck).toBe('data');
    expect(judged({ compute: 0.81, idle_data: 0.19 }).bottleneck).toBe('gpu');
  });

  it('must take a tenth of the step', () => {
    expect(judged({ compute: 0.2, idle_host: 0.11, idle_other: 0.69 }).bottleneck).toBe('host');
    expect(judged({ compute: 0.2, idle_host: 0.09, idle_other: 0.71 }).bottleneck).toBe('gpu');
  });

  it('must take more than waiting for a rank that computes longer', () => {
    expect(judged({ compute: 0.6, idle_data: 0.4 }, 0.39).bottleneck).toBe('data');
    expect(judged({ compute: 0.6, idle_data: 0.4 }, 0.41).bottleneck).toBe('gpu');
  });

  it.each([0.7, 0.75])('a wait is named although the GPU computes %f of the step', (compute) => {
    expect(judged({ compute, idle_data: 1 - compute }).bottleneck).toBe('data');
  });
});

describe('a runner-up', () => {
  it('is named when the first takes no more than 1.5 times as long', () => {
    expect(judged({ compute: 0.24, idle_data: 0.45, idle_host: 0.31 }).second).toBe('host');
    expect(judged({ compute: 0.2, idle_data: 0.49, idle_host: 0.31 }).second).toBeNull();
  });

  it('must take a tenth of the step itself', () => {
    const close = (share: number) => ({ idle_data: 0.12, idle_host: share, idle_other: 0.88 - share });
    expect(judged(close(0.11)).second).toBe('host');
    expect(judged(close(0.09)).second).toBeNull();
  });

  it('is something waited for rather than computing', () => {
    expect(judged({ compute: 0.34, idle_data: 0.35, idle_host: 0.31 }).second).toBe('host');
    expect(judged({ compute: 0.48, idle_data: 0.46, idle_host: 0.06 }).second).toBe('gpu');
  });
});

describe('confidence', () => {
  it('is 0.55 and 0.7 of the lead where computing is named, at most 0.97', () => {
    expect(judged({ compute: 0.7, idle_host: 0.15, comms_transfer: 0.15 }).confidence).toBe(0.94);
    expect(judged({ compute: 1 }).confidence).toBe(0.97);
  });

  it('is 0.6 and 0.7 of the lead over what would be named otherwise, at most 0.97', () => {
    // Over a quarter of the computing, over Python, and over a late rank.
    expect(judged({ compute: 0.59, idle_data: 0.41 }).confidence).toBe(0.78);
    expect(judged({ compute: 0.3, idle_data: 0.4, idle_host: 0.3 }).confidence).toBe(0.67);
    expect(judged({ compute: 0.6, idle_data: 0.4 }, 0.2).confidence).toBe(0.74);
    expect(judged(CLEAR).confidence).toBe(0.97);
  });

  it('loses 0.3 of the share of the step that nothing explains, above 0.3', () => {
    expect(judged({ idle_data: 0.66, idle_other: 0.34 }).doubts).toHaveLength(1);
    expect(judged({ idle_data: 0.66, idle_other: 0.34 }).confidence).toBe(0.87);
    expect(judged({ idle_data: 0.74, idle_other: 0.26 }).doubts).toEqual([]);
  });

  it('is at most 0.5 if the unexplained share is nearly as large as the named one, and 0.4 if it is as large', () => {
    expect(judged({ compute: 0.55, idle_host: 0.1, idle_other: 0.35 }).confidence).toBe(0.5);
    const half = judged({ compute: 0.48, idle_host: 0.04, idle_other: 0.48 });
    expect(half.confidence).toBe(0.4);
    // What makes the answer unknown is what the answer says.
    expect(half.doubts[0]?.id).toBe('unexplained-idle');
  });

  const withSteps = (more: Partial<StepFacts>): RankView => {
    const view = divided(CLEAR);
    return { ...view, divided: { ...view.divided, steps: { ...view.facts.steps, ...more } } };
  };
  const withInput = (
    more: Partial<TraceView>,
    count: number,
    workers = 1,
    delivered: number | null = null,
  ): RankView => {
    const view = { ...divided({ idle_host: 0.8, compute: 0.2 }), ...more };
    const { facts } = view;
    const queue = delivered === null ? null : { taken: 8, delivered, deliveredUnasked: delivered };
    const input = { ...facts.input, inWorkers: workers, queue };
    return { ...view, facts: { ...facts, input, steps: { ...facts.steps, count } } };
  };
  const estimated = { step: ESTIMATED, baseline: null };
  const faithful = (is: boolean) => ({ ...divided(CLEAR), baseline: { ...drawn.baseline!, faithful: is } });

  it.each<[string, RankView, number]>([
    ['nothing', divided(CLEAR), 0],
    ['no steps marked', withSteps({ source: 'window' }), 0.47],
    ['no steps marked, whatever their number', withSteps({ source: 'window', count: 1 }), 0.47],
    ['one step', withSteps({ count: 1 }), 0.22],
    ['two steps', withSteps({ count: 2 }), 0],
    ['steps that differ, and two of them', withSteps({ irregular: true, count: 2 }), 0.1],
    ['steps that differ, and five of them', withSteps({ irregular: true, count: 5 }), 0.1],
    ['steps that differ, and six of them', withSteps({ irregular: true, count: 6 }), 0],
    ['a step of 9 µs', { ...divided(CLEAR), step: lasting(drawn.step, 9_000) }, 0.6],
    ['a step of 11 µs', { ...divided(CLEAR), step: lasting(drawn.step, 11_000) }, 0],
    ['a step that is no number', { ...divided(CLEAR), step: lasting(drawn.step, Number.NaN) }, 0.6],
    ['seven steps with workers', withInput(estimated, 7), 0.22],
    ['seven steps with workers that keep up', withInput(estimated, 7, 1, 6), 0],
    ['seven steps with workers that hardly do', withInput(estimated, 7, 1, 5), 0.22],
    ['eight steps with workers', withInput(estimated, 8), 0],
    ['seven steps without workers', withInput(estimated, 7, 0), 0],
    ['seven steps with workers, measured without the profiler', withInput({}, 7), 0],
    ['a replay that does not reproduce the step', faithful(false), 0.1],
    ['a replay that does', faithful(true), 0],
    ['no host events', { ...divided(CLEAR), facts: { ...drawn.facts, hasHostEvents: false } }, 0.25],
  ])('is lower for %s', (_, view, by) => {
    const { confidence, doubts } = judge(view);
    expect(confidence).toBe(Math.round(100 * (0.97 - by)) / 100);
    expect(doubts).toHaveLength(by === 0 ? 0 : 1);
  });
});

describe('confidence where the cost of the profiler is estimated', () => {
  /** The step may be so many ms shorter or longer than estimated. */
  const within = (time: Parts, shorter: number, longer: number) => {
    const unprofiled = ns(100e6);
    const [unprofiledLow, unprofiledHigh] = [ns(unprofiled - shorter * 1e6), ns(unprofiled + longer * 1e6)];
    const baseline = { ...drawn.baseline!, unprofiled, unprofiledLow, unprofiledHigh, faithful: true };
    return judge({ ...divided(time), baseline, step: ESTIMATED });
  };

  it('is 0.2 lower when another answer is within it', () => {
    // Python takes 19 ms in addition to 81 ms of computing. With 3 ms more it would be more than a quarter of them.
    const named = within({ compute: 0.81, idle_host: 0.19 }, 0, 3);
    expect(named).toMatchObject({ bottleneck: 'gpu', second: null, confidence: 0.77 });
    expect(named.doubts).toHaveLength(1);
    expect(within({ compute: 0.81, idle_host: 0.19 }, 3, 0).confidence).toBe(0.97);
  });

  it('is 0.05 lower when that answer is named as well', () => {
    const named = within({ compute: 0.78, idle_host: 0.22 }, 5, 0);
    expect(named).toMatchObject({ bottleneck: 'host', second: 'gpu', confidence: 0.57 });
    expect(within({ compute: 0.78, idle_host: 0.22 }, 0, 5)).toMatchObject({ confidence: 0.62, doubts: [] });
  });

  it('never takes more from the host than it has', () => {
    expect(within({ compute: 0.7, idle_data: 0.3 }, 50, 0)).toMatchObject({ bottleneck: 'data', doubts: [] });
  });
});

describe('confidence from phases alone', () => {
  const fromPhases = (time: Parts, phases: Partial<PhaseKnowledge>) => {
    const view = divided(time);
    const known: PhaseKnowledge = { ...PHASES, ...phases };
    // Only logs have phases, but nothing else in the facts matters here.
    const facts = { ...view.facts, phases: known };
    return judge({ ...view, facts, divided: { ...view.divided, phases: known } } as unknown as RankView)
      .confidence;
  };

  it.each<[string, Parts, Partial<PhaseKnowledge>, number]>([
    ['0.1 lower for input', CLEAR, {}, 0.87],
    ['0.1 lower for communication', { comms_transfer: 0.8, compute: 0.2 }, { hostPaced: ns(0) }, 0.87],
    ['0.1 lower for jobs on the CPU', { compute: 1 }, { allHost: true }, 0.87],
    ['0.1 lower for the host where lags were not recorded', { idle_host: 0.8, compute: 0.2 }, {}, 0.87],
    ['at most 0.6 for computing where lags were not recorded', { compute: 1 }, {}, 0.6],
    ['at most 0.85 for computing where they were', { compute: 1 }, { hostPaced: ns(0) }, 0.85],
    [
      'at most 0.75 for the host where they were',
      { idle_host: 0.8, compute: 0.2 },
      { hostPaced: ns(0) },
      0.75,
    ],
  ])('is %s', (_, time, phases, expected) => {
    expect(fromPhases(time, phases)).toBe(expected);
  });
});
