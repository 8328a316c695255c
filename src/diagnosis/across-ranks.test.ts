import { describe, expect, it } from 'vitest';
import { drawView } from '../../test/helpers/draw-run.js';
import { steps } from '../../test/helpers/draw-trace.js';
import { ns } from '../base/units.js';
import { type TimeClass, totals } from '../facts/time-class.js';
import type { Comparison } from '../run/compare.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import { acrossOf, criticalView, lateComputingOf, withWaiting } from './across-ranks.js';
import type { RankView } from './ranks/rank-view.js';

const drawn = drawView(
  steps(
    8,
    100_000,
    'host 1  ProfilerStep#1 0-100000 | cudaLaunchKernel 0-10 #1\ngpu 7  nvjet_tst_256 20-99990 #1',
  ),
  { unprofiledMs: 100, rank: 3 },
);
type Parts = Partial<Record<TimeClass, number>>;
const ms = (time: Parts) => totals((c) => ns(1e6 * (time[c] ?? 0)));
/** As recorded, and without the profiler. */
const viewOf = (recorded: Parts, corrected = recorded): RankView => ({
  ...drawn,
  facts: { ...drawn.facts, time: ms(recorded) },
  time: ms(corrected),
});
const comparison = (more: object): Comparison =>
  ({
    late: [],
    slowGroups: [],
    waitShare: new Map(),
    bandwidth: [],
    pace: 100e6,
    ...more,
  }) as unknown as Comparison;
const late = (cause: LateRanks['cause'], cost: number) =>
  ({
    ranks: [3],
    pattern: 'persistent',
    cause,
    cost: ns(cost * 1e6),
    confidence: 0.9,
    steps: [],
  }) as unknown as LateRanks;

describe('the view of the critical path', () => {
  it('has the time of the path, scaled to the step, corrected as on that rank', () => {
    const view = viewOf({ compute: 60, idle_host: 40 }, { compute: 60, idle_host: 20 });
    // 70 ms of computing stay, 20 ms on the host become 10, and 20 ms of input, which the rank has none of, stay: of 100.
    const critical = { rank: 3, time: ms({ compute: 70, idle_host: 20, idle_data: 20 }) };
    const { time, rank } = criticalView(comparison({ critical }), [view])!;
    expect(rank).toBe(3);
    expect(time).toEqual(ms({ compute: 70, idle_host: 10, idle_data: 20 }));
  });

  it('has the log’s time, and what the trace of the rank shows inside it', () => {
    const phases = { placed: true, allHost: false, hostPaced: null, copyingHost: null, inputLine: null };
    const loggedFacts = { ...drawn.facts, source: 'log', phases, time: ms({ compute: 100 }) };
    const logged = {
      ...drawn,
      source: 'log',
      facts: loggedFacts,
      time: ms({ compute: 100 }),
    } as unknown as RankView;
    const traced = viewOf({ compute: 30, idle_host: 70 });
    const critical = { rank: 3, time: ms({ compute: 60, idle_data: 40 }) };
    const both = criticalView(comparison({ critical }), [logged], [traced])!;
    expect(both).toMatchObject({ source: 'trace', divided: { by: 'log', phases: null } });
    expect(both.time).toEqual(ms({ compute: 18, idle_host: 42, idle_data: 40 }));
    const alone = criticalView(comparison({ critical }), [logged], [])!;
    expect(alone).toMatchObject({ source: 'log', time: ms({ compute: 60, idle_data: 40 }) });
  });

  it('is none without a path, without its rank, or without time on it', () => {
    const view = viewOf({ compute: 100 });
    expect(criticalView(null, [view])).toBeNull();
    expect(criticalView(comparison({ critical: null }), [view])).toBeNull();
    expect(criticalView(comparison({ critical: { rank: 4, time: ms({ compute: 1 }) } }), [view])).toBeNull();
    expect(criticalView(comparison({ critical: { rank: 3, time: ms({}) } }), [view])).toBeNull();
  });
});

describe('exposed communication', () => {
  it('is divided into waiting and transfer', () => {
    const view = viewOf({ compute: 60, comms_wait: 1, comms_transfer: 24, idle_comms: 15 });
    const { time } = withWaiting(view, comparison({ waitShare: new Map([[3, 0.25]]) }));
    expect(time.comms_wait).toBeCloseTo(1e6 * (1 + 0.25 * (24 + 15)), 3);
    expect(time.comms_transfer).toBeCloseTo(18e6, 3);
    expect(time.idle_comms).toBeCloseTo(11.25e6, 3);
    expect(time.compute).toBe(60e6);
  });

  it('stays as it is where no waiting is known', () => {
    const view = viewOf({ comms_transfer: 24 });
    expect(withWaiting(view, null)).toBe(view);
    expect(withWaiting(view, comparison({}))).toBe(view);
  });

  it('of a log is taken from the comparison, step by step', () => {
    const view = {
      ...viewOf({ compute: 100 }),
      facts: { ...drawn.facts, phases: {} },
    } as unknown as RankView;
    const table = {
      ranks: [2, 3],
      time: [[ms({ compute: 1 })], [ms({ compute: 60, comms_wait: 20 }), ms({ compute: 20 })]],
    };
    const { time } = withWaiting(view, comparison({ table, waitShare: new Map([[3, 0.5]]) }));
    expect(time.compute).toBeCloseTo(80e6, 3);
    expect(time.comms_wait).toBeCloseTo(20e6, 3);
    const other = comparison({ table: { ...table, ranks: [2, 4] } });
    expect(withWaiting(view, other)).toBe(view);
    const empty = comparison({ table: { ranks: [3], time: [[ms({})]] } });
    expect(withWaiting(view, empty)).toBe(view);
  });
});

describe('computing longer than the others', () => {
  it('is a share of the step, of all ranks that do', () => {
    const three = { late: [late('gpu', 5), late('data', 30), late('gpu', 7)] };
    expect(lateComputingOf(comparison(three))).toBeCloseTo(0.12, 9);
    expect(lateComputingOf(comparison({ ...three, pace: 0 }))).toBe(0);
    expect(lateComputingOf(comparison({}))).toBe(0);
    expect(lateComputingOf(null)).toBe(0);
  });
});

describe('what rules see of all ranks', () => {
  const matched = {
    ranks: [0, 4, 8],
    groups: [
      { name: 'tp', captured: [] },
      { name: 'dp', captured: [0, 2] },
    ],
  };

  it('has late ranks, the gain of full overlap, and slow groups with their ranks and machines', () => {
    const compared = comparison({
      ...{ table: { steps: [4, 5] }, matched, late: [late('gpu', 5)], played: { withOverlap: 7e6 } },
      slowGroups: [{ group: 1, ratio: 0.5 }],
    });
    const places = new Map([
      [0, { host: 'a' }],
      [8, { host: 'a' }],
    ]);
    expect(acrossOf(compared, places)).toEqual({
      late: compared.late,
      steps: 2,
      overlap: 7e6,
      links: [{ group: 'dp', ranks: [0, 8], hosts: ['a'], ratio: 0.5 }],
    });
    const unknown = acrossOf(comparison({ ...compared, played: null }), new Map());
    expect(unknown).toMatchObject({ overlap: null, links: [{ hosts: [] }] });
  });

  it('is nothing where ranks have no step in common', () => {
    expect(acrossOf(null, new Map())).toBeNull();
    expect(acrossOf(comparison({ table: null }), new Map())).toBeNull();
  });
});
