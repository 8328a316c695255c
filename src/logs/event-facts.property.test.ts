import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../test/helpers/cases.js';
import { analyze, HEADER } from '../../test/helpers/logs.js';
import { TIME_CLASSES } from '../facts/time-class.js';
import type { EventFacts } from './event-facts.js';
import { unprofiledLog } from './log-facts.js';

const stepWithout = (...args: Parameters<typeof unprofiledLog>) => unprofiledLog(...args)?.step ?? null;

const name = fc.constantFrom(
  ...['data_wait', 'host_to_device', 'forward', 'backward', 'optimizer', 'training_step', 'training_metrics'],
  ...['collective:all_reduce', 'collective:all_gather', 'own', 'own too'],
);
const number = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 200 }) },
  { weight: 2, arbitrary: fc.double({ min: 0, max: 100, noNaN: true }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);
const record = fc.record(
  {
    name,
    step: fc.oneof({ weight: 8, arbitrary: fc.nat({ max: 12 }) }, fc.maxSafeInteger()),
    rank: fc.integer({ min: -1, max: 1 }),
    duration_ms: number,
    start_ms: number,
    micro: fc.nat({ max: 2 }),
    clock: fc.constantFrom('gpu', 'host'),
    host_ms: number,
    lag_ms: number,
    run: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: ['name', 'step', 'duration_ms'] },
);
/** The same fields in every record: such files reach code that mixed ones seldom do. */
const even = fc
  .tuple(
    fc.uniqueArray(name, { minLength: 1 }),
    fc.nat({ max: 12 }),
    fc.integer({ min: 1, max: 3 }),
    fc.constantFrom('', 'gpu', 'host', 'mixed'),
    fc.boolean(),
    fc.infiniteStream(fc.nat({ max: 60 })),
  )
  .map(([names, count, by, clock, hasStarts, times]) => {
    const next = () => times.next().value as number;
    return Array.from({ length: count }, (_, i) => i * by).flatMap((step) =>
      names.map((phase, k) => ({
        name: phase,
        step,
        rank: 0,
        duration_ms: next(),
        ...(hasStarts ? { start_ms: step * 50 + next() } : {}),
        ...(hasStarts && clock === 'gpu' ? { host_ms: next(), lag_ms: next() } : {}),
        ...(clock === '' ? {} : { clock: clock === 'mixed' ? (k % 2 ? 'gpu' : 'host') : clock }),
      })),
    );
  });
const log = fc
  .tuple(fc.boolean(), fc.oneof(fc.array(record, { maxLength: 60 }), even))
  .map(([hasHeader, records]) => [...(hasHeader ? [HEADER] : []), ...records.map((r) => JSON.stringify(r))]);

function expectSound(facts: EventFacts): void {
  const { step, medianStep, time } = facts;
  for (const value of [step, medianStep, ...Object.values(time)]) {
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThan(Number.POSITIVE_INFINITY);
  }
  expect(Object.keys(time).sort()).toEqual([...TIME_CLASSES].sort());
  const sum = Object.values(time).reduce((a, b) => a + b, 0);
  expect(Math.abs(sum - step)).toBeLessThanOrEqual(1e-9 * step);
  facts.timePerStep.forEach((own, i) => {
    for (const value of Object.values(own)) expect(value).toBeGreaterThanOrEqual(0);
    const all = Object.values(own).reduce((a, b) => a + b, 0);
    expect(Math.abs(all - facts.periods[i]!)).toBeLessThanOrEqual(1e-6 * facts.periods[i]! + 1);
  });
  expect(facts.steps).toBeGreaterThan(0);
  expect(facts.last).toBeGreaterThanOrEqual(facts.first);
  for (const phase of facts.phases) {
    expect(phase.records).toBeGreaterThan(0);
    expect(phase.ns).toBeGreaterThanOrEqual(0);
  }
}

describe('any log', () => {
  it('gives finite classes that add up to the step', () => {
    const sources = new Set<string>();
    fc.assert(
      fc.property(log, (lines) => {
        const all = analyze(lines);
        for (const facts of all) {
          expectSound(facts);
          sources.add(facts.stepSource);
        }
        for (const rank of [-1, 0, 1]) expect(stepWithout(all, rank)).not.toBeNaN();
      }),
      { numRuns: cases(400, 1000) },
    );
    expect([...sources].sort()).toEqual(['start-times', 'sum-of-phases', 'training_step']);
  });

  it('does not depend on the order in which phases of a step are written', () => {
    const shuffled = even.chain((records) =>
      fc.tuple(fc.constant(records), fc.shuffledSubarray([...new Set(records.map((r) => r.name))])),
    );
    fc.assert(
      fc.property(shuffled, ([records, order]) => {
        fc.pre(order.length === new Set(records.map((r) => r.name)).size);
        const byPhase = order.flatMap((n) => records.filter((r) => r.name === n));
        const [a, b] = [records, byPhase].map((rs) =>
          analyze(
            HEADER,
            rs.map((r) => JSON.stringify(r)),
          ),
        );
        expect(b!.map((f) => f.steps)).toEqual(a!.map((f) => f.steps));
        for (const [i, facts] of a!.entries()) expect(b![i]!.step / facts.step).toBeCloseTo(1, 9);
      }),
    );
  });
});
