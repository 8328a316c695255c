import { describe, expect, it } from 'vitest';
import { ns } from '../../base/units.js';
import { type OwnPhases, withLatePhases } from './late-phases.js';
import type { LateRanks } from './late-ranks.js';

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
  it('is the one that takes late ranks longest, against the median of the others', () => {
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

  it('is none where no phase has half of the delay', () => {
    expect(named(late(), phases({ a: 3 }, { a: 3 }, { a: 4.9 }))).toBeUndefined();
    expect(named(late(), phases({ a: 3 }, { a: 3 }, { a: 5 }))).toBe('a');
    expect(
      named(late({ cost: ns(0), mayCost: ns(9e6) }), phases({ a: 3 }, { a: 3 }, { a: 5 })),
    ).toBeUndefined();
  });

  it('has a name that fits into a sentence', () => {
    const long = 'x'.repeat(3000);
    expect(named(late(), phases({}, {}, { [long]: 4 }))).toBe(`${'x'.repeat(60)}…`);
  });

  it('is the mean over several late ranks, and none where one of them has no log', () => {
    const both = late({ ranks: [1, 2] });
    expect(named(both, phases({ a: 1 }, { a: 5 }, { a: 6 }))).toBe('a');
    expect(named(late({ ranks: [2, 3] }), phases({ a: 1 }, { a: 1 }, { a: 6 }))).toBeUndefined();
    expect(named(late({ ranks: [] }), phases({ a: 1 }, { a: 5 }))).toBeUndefined();
    expect(named(late({ ranks: [0, 1] }), phases({ a: 1 }, { a: 5 }))).toBeUndefined();
  });
});
