import { expect, it } from 'vitest';
import { ns } from '../../base/units.js';
import { sumOfClasses, totals } from '../../facts/time-class.js';
import type { RankTable } from '../table/rank-table.js';
import { knownCost } from './hidden-delay.js';
import type { LateRanks, Pattern } from './late-ranks.js';

/** A step of a rank, in ms: computing outside the backward pass and in it, input, and what it waits for transfers. */
interface Step {
  readonly elsewhere?: number;
  readonly pass?: number;
  readonly input?: number;
  readonly waits?: number;
}

const STEPS = 10;
const USUAL = { elsewhere: 40, pass: 60, input: 0, waits: 100 } as const;

/** Four ranks, of which rank 2 differs in the given steps. The others wait as long as it makes the step. */
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

it('but only what comes before the pass where transfers take longer than the pass', () => {
  expect(known({ elsewhere: 60, pass: 90, waits: 100 }, 50, { others: { waits: 150 } })).toBeCloseTo(20);
});

it('counts by how much steps with a delay are longer, if it comes now and then', () => {
  const spike = { pattern: 'spike', steps: [4, 7] } as const;
  // 2 of 10 steps are 60 ms longer.
  expect(known({ pass: 120, waits: 100 }, 12, { ...spike, others: { waits: 160 } })).toBeCloseTo(12);
  // As long as the others: hidden.
  expect(known({ pass: 120, waits: 40 }, 12, spike)).toBe(0);
});
