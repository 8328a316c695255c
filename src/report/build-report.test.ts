import { describe, expect, it } from 'vitest';
import { ns } from '../base/units.js';
import { totals } from '../facts/time-class.js';
import type { Comparison } from '../run/compare.js';
import type { LateRanks } from '../run/lateness/late-ranks.js';
import { criticalPathOf, whatIfOf } from './build-report.js';

const LATE = {
  ranks: [2],
  pattern: 'persistent',
  cause: 'gpu',
  cost: ns(5e6),
  confidence: 0.9,
  steps: [],
} as unknown as LateRanks;
const played = (withoutAny: number, withOverlap = 0, without = withoutAny) => ({
  withoutAny: withoutAny * 1e6,
  withOverlap: withOverlap * 1e6,
  without: () => without * 1e6,
});

/** Steps of 100 ms in which the median rank takes 80 ms of its own, and 10 ms of transfers are exposed. */
function comparison(more: Record<string, unknown>): Comparison {
  return {
    table: { recorded: 100e6, steps: [0, 1], own: [70e6, 80e6, 95e6].map((ns) => [ns, ns]), fromLogs: false },
    pace: 100e6,
    late: [],
    played: null,
    critical: { time: totals((c) => (c === 'comms_transfer' ? 10e6 : 0)) },
    ...more,
  } as unknown as Comparison;
}

describe('what-if', () => {
  it('takes what playing the run without delays saves', () => {
    const found = whatIfOf(comparison({ played: played(20, 0, 5), late: [LATE] }))!;
    expect(found).toMatchObject({ actual_s: 0.1, ideal_s: 0.08, slowdown: 1.25, m_w: 0.25, m_s: null });
  });

  it('falls back on the median rank’s own time and the exposed transfers: 80 and 10 of 100 ms', () => {
    const found = whatIfOf(comparison({ late: [LATE] }))!;
    expect(found).toMatchObject({ actual_s: 0.1, ideal_s: 0.09, m_w: 0.5, cases: [] });
  });

  it('of exposed communication counts what holds the host, too', () => {
    const time = totals((c) => ns(c === 'comms_transfer' ? 6e6 : c === 'idle_comms' ? 4e6 : 0));
    expect(whatIfOf(comparison({ critical: { time } }))!.ideal_s).toBe(0.09);
  });

  it('takes off what recorded steps are longer by than the others: 10 of 100 ms', () => {
    const sampled = { pace: 90e6, played: played(20, 0, 15), late: [LATE] };
    const found = whatIfOf(comparison(sampled))!;
    expect(found).toMatchObject({ actual_s: 0.09, ideal_s: 0.08, m_w: 0.5 });
    const rotating = { ...LATE, ranks: [], pattern: 'rotating' };
    const { cases } = whatIfOf(comparison({ ...sampled, late: [rotating] }))!;
    expect(cases.map((c) => c.saving_ms)).toEqual([10]);
  });

  it('adds up costs where nobody is named', () => {
    const rotating = { ...LATE, ranks: [], pattern: 'rotating' };
    expect(whatIfOf(comparison({ played: played(20, 0, 1), late: [rotating] }))!.m_w).toBe(0.25);
  });

  it('names the late ranks', () => {
    const { cases } = whatIfOf(comparison({ played: played(20), late: [LATE] }))!;
    expect(cases[0]!.text).toContain('rank 2');
    expect(cases[0]!.text).not.toContain('imbalance');
  });

  it('never leaves less than a hundredth of the step', () => {
    expect(whatIfOf(comparison({ played: played(120) }))!.ideal_s).toBeCloseTo(0.001, 9);
  });

  it('has no share to explain where less than a thousandth is lost', () => {
    const of = (ms: number) => whatIfOf(comparison({ played: played(ms), late: [LATE] }))!.m_w;
    expect(of(0.11)).toBe(1);
    expect(of(0.09)).toBeNull();
  });

  it('names savings of a hundredth of the step and more', () => {
    const savings = (cost: number, overlap: number) =>
      whatIfOf(comparison({ played: played(20, overlap), late: [{ ...LATE, cost: cost * 1e6 }] }))!.cases.map(
        (c) => [c.ranks, c.saving_ms],
      );
    expect(savings(1.1, 1.1)).toEqual([
      [[2], 1.1],
      [[], 1.1],
    ]);
    expect(savings(0.9, 0.9)).toEqual([]);
  });

  it('charges an imbalance that moves about with all that is lost', () => {
    const rotating = { ...LATE, ranks: [], pattern: 'rotating' };
    const { cases } = whatIfOf(comparison({ played: played(7), late: [rotating] }))!;
    expect(cases.map((c) => [c.text, c.saving_ms])).toEqual([[expect.stringContaining('imbalance'), 7]]);
  });

  it('is nothing without steps in common or a critical path', () => {
    expect(whatIfOf(null)).toBeNull();
    expect(whatIfOf(comparison({ table: null }))).toBeNull();
    expect(whatIfOf(comparison({ critical: null }))).toBeNull();
  });
});

describe('the critical path', () => {
  const time = totals((c) => (c === 'compute' ? 60e6 : c === 'idle_data' ? 40e6 : 0));
  const path = {
    time,
    hops: 1.2345,
    ranks: [
      { rank: 2, ns: 75e6, time: totals((c) => (c === 'idle_data' ? 40e6 : c === 'compute' ? 35e6 : 0)) },
      { rank: 0, ns: 25e6, time: totals((c) => (c === 'compute' ? 25e6 : 0)) },
    ],
  };

  it('divides by class and by rank, and says what most of a rank’s part is', () => {
    const found = criticalPathOf(comparison({ path }))!;
    expect(found.by_class).toMatchObject({ compute: 0.6, idle_data: 0.4, idle_host: 0 });
    expect(found.by_rank).toEqual([
      { rank: 2, share: 0.75, mostly: 'idle_data', mostly_ms: 40 },
      { rank: 0, share: 0.25, mostly: 'compute', mostly_ms: 25 },
    ]);
    expect(found.hops).toBe(1.23);
  });

  it('is nothing without ranks in common, or without time on it', () => {
    expect(criticalPathOf(null)).toBeNull();
    expect(criticalPathOf(comparison({ path: null }))).toBeNull();
    expect(criticalPathOf(comparison({ path: { ...path, time: totals(() => 0) } }))).toBeNull();
  });
});
