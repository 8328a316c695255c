import { describe, expect, it } from 'vitest';
import type { SimulateOptions } from '../../../test/helpers/simulate/options.js';
import { compareRun } from '../../../test/helpers/simulate/score.js';
import { simulateRun } from '../../../test/helpers/simulate/simulate.js';
import { ns } from '../../base/units.js';
import { sumOfClasses, totals } from '../../facts/time-class.js';
import type { RankTable } from '../table/build-table.js';
import { knownCost, type LateRanks, type OwnPhases, type Pattern, withLatePhases } from './late-ranks.js';

const late = (more: Partial<LateRanks> = {}): LateRanks => ({
  ranks: [2],
  pattern: 'persistent',
  cause: 'unknown',
  cost: ns(4e6),
  confidence: 0.9,
  location: null,
  steps: [1, 2, 3],
  ...more,
});
const phases = (...ms: readonly Readonly<Record<string, number>>[]): ReadonlyMap<number, OwnPhases> =>
  new Map(ms.map((of, rank) => [rank, new Map(Object.entries(of).map(([name, t]) => [name, ns(t * 1e6)]))]));
const named = (l: LateRanks, of: ReadonlyMap<number, OwnPhases>) => withLatePhases([l], of)[0]!.phase?.name;

describe('the phase of a delay', () => {
  it('the phase of a delay is the one that takes late ranks longest, against the median of the others', () => {
    const of = phases({ a: 3, b: 1 }, { a: 3, b: 2 }, { a: 4, b: 6 });
    expect(withLatePhases([late()], of)[0]!.phase).toEqual({ name: 'b', time: ns(6e6), usual: ns(1.5e6) });
  });

  it('may be one that only they have', () => {
    expect(withLatePhases([late()], phases({}, { a: 1 }, { a: 1, extra: 4 }))[0]!.phase).toEqual({
      name: 'extra',
      time: ns(4e6),
      usual: ns(0),
    });
  });

  it('the phase of a delay is none where no phase has half of the delay', () => {
    expect(named(late(), phases({ a: 3 }, { a: 3 }, { a: 4.9 }))).toBeUndefined();
    expect(named(late(), phases({ a: 3 }, { a: 3 }, { a: 5 }))).toBe('a');
    expect(
      named(late({ cost: ns(0), mayCost: ns(9e6) }), phases({ a: 3 }, { a: 3 }, { a: 5 })),
    ).toBeUndefined();
  });

  it('the phase of a delay has a name that fits into a sentence', () => {
    const long = 'x'.repeat(3000);
    expect(named(late(), phases({}, {}, { [long]: 4 }))).toBe(`${'x'.repeat(60)}…`);
  });

  it('the phase of a delay is the mean over several late ranks, and none where one of them has no log', () => {
    const both = late({ ranks: [1, 2] });
    expect(named(both, phases({ a: 1 }, { a: 5 }, { a: 6 }))).toBe('a');
    expect(named(late({ ranks: [2, 3] }), phases({ a: 1 }, { a: 1 }, { a: 6 }))).toBeUndefined();
    expect(named(late({ ranks: [] }), phases({ a: 1 }, { a: 5 }))).toBeUndefined();
    expect(named(late({ ranks: [0, 1] }), phases({ a: 1 }, { a: 5 }))).toBeUndefined();
  });
});

describe('a slow link', () => {
  const BASE = { seed: 2, ranks: 8, ranksPerHost: 4, steps: 8, eventsPerStep: 80 } as const;
  const late = (options: Omit<SimulateOptions, 'seed'>) =>
    compareRun(simulateRun({ ...BASE, ...options }))!.late.map((l) => ({ ...l, ms: l.cost / 1e6 }));
  const SLOW = { kind: 'link', ranks: [2], size: 0.3 } as const;

  it.each([
    // The simulator’s steps grow by 10.9 and by 3.7 ms.
    ['pipeline', [2, 3], 10.9],
    ['mesh2d', [0, 2, 4, 6], 3.7],
  ] as const)(
    'a slow link of a %s makes its ranks late, and costs what the step would save',
    (parallelism, ranks, ms) => {
      const found = late({ parallelism, fault: SLOW });
      expect(found).toMatchObject([{ ranks, cause: 'link', pattern: 'persistent' }]);
      expect(found[0]!.ms).toBeGreaterThan(0.8 * ms);
      expect(found[0]!.ms).toBeLessThan(1.2 * ms);
    },
  );

  it('a slow link that bubbles hide is not worth naming', () => {
    expect(late({ parallelism: 'pipeline', fault: { ...SLOW, size: 0.1 } })).toEqual([]);
  });

  it('a slow link of all ranks has no siblings to compare with', () => {
    expect(late({ parallelism: 'ddp', fault: SLOW })).toEqual([]);
  });

  it('no slow link is seen where there is none', () => {
    for (const parallelism of ['pipeline', 'mesh2d'] as const) expect(late({ parallelism })).toEqual([]);
  });
});

/** A step of a rank, in ms: computing outside the backward pass and in it, input, and what it waits for transfers. */
interface Step {
  readonly elsewhere?: number;
  readonly pass?: number;
  readonly input?: number;
  readonly waits?: number;
}

const STEPS = 10;
const USUAL = { elsewhere: 40, pass: 60, input: 0, waits: 100 } as const;

/** Four ranks; rank 2 differs in the given steps. The others wait as long as it makes the step. */
function known(
  late: Step,
  cost: number,
  more: { pattern?: Pattern; steps?: readonly number[]; others?: Step } = {},
) {
  const { pattern = 'persistent', steps = [...Array(STEPS).keys()], others = {} } = more;
  const rows = [0, 1, 2, 3].map((rank) =>
    Array.from({ length: STEPS }, (_, s): Required<Step> => {
      const isLate = steps.includes(s);
      return { ...USUAL, ...(isLate ? others : {}), ...(isLate && rank === 2 ? late : {}) };
    }),
  );
  const time = rows.map((row) =>
    row.map((t) => {
      const ms = { compute: t.elsewhere + t.pass, idle_data: t.input, comms_transfer: t.waits };
      return totals((c) => 1e6 * ((ms as Partial<Record<typeof c, number>>)[c] ?? 0));
    }),
  );
  const table = {
    ranks: [0, 1, 2, 3],
    steps: Array.from({ length: STEPS }, (_, s) => s + 5),
    time,
    mayHide: rows.map((row) => Float64Array.from(row, (t) => 1e6 * t.pass)),
    own: time.map((row) => Float64Array.from(row, (t) => sumOfClasses(t) - t.comms_transfer)),
  } as unknown as RankTable;
  const found = { ranks: pattern === 'rotating' ? [] : [2], pattern, steps: steps.map((s) => s + 5) };
  return knownCost(table, found as unknown as LateRanks, ns(1e6 * cost)) / 1e6;
}

it('counts a delay before the backward pass', () => {
  expect(known({ input: 80, waits: 100 }, 80)).toBeCloseTo(80);
  expect(known({ elsewhere: 120, waits: 100 }, 80)).toBeCloseTo(80);
});

it('does not count a delay within it, which may come after the gradients were sent', () => {
  expect(known({ pass: 140, waits: 20 }, 80)).toBe(0);
  expect(known({ pass: 140, input: 30, waits: 20 }, 110)).toBeCloseTo(30);
  expect(known({ pass: 140, waits: 20 }, 80, { pattern: 'rotating' })).toBe(0);
});

it('counts all of a rank that computes slower everywhere', () => {
  expect(known({ elsewhere: 60, pass: 90, waits: 10 }, 50, { others: { waits: 60 } })).toBeCloseTo(50);
  // In its pass it is 30 ms slower than elsewhere.
  expect(known({ elsewhere: 60, pass: 120, waits: 10 }, 80, { others: { waits: 90 } })).toBeCloseTo(50);
});

it('only what comes before the pass counts where transfers take longer than the pass', () => {
  expect(known({ elsewhere: 60, pass: 90, waits: 100 }, 50, { others: { waits: 150 } })).toBeCloseTo(20);
});

it('counts by how much steps with a delay are longer, if it comes now and then', () => {
  const spike = { pattern: 'spike', steps: [4, 7] } as const;
  // 2 of 10 steps are 60 ms longer.
  expect(known({ pass: 120, waits: 100 }, 12, { ...spike, others: { waits: 160 } })).toBeCloseTo(12);
  // As long as the others: hidden.
  expect(known({ pass: 120, waits: 40 }, 12, spike)).toBe(0);
});
