import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columns, type Drawn, groupOf, rank } from '../../../test/helpers/collectives.js';
import { commonSubsequence } from './align.js';
import { matchCollectives } from './match.js';

const RANKS = 3;
const G = groupOf([0, 1, 2]);

/** A job's collectives, the same in every step. `id`: the truth. */
const job = fc.record({
  perStep: fc.array(fc.constantFrom(10, 20, 20, 30), { minLength: 1, maxLength: 6 }),
  steps: fc.integer({ min: 2, max: 8 }),
  cuts: fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { minLength: RANKS, maxLength: RANKS }),
});
type Job = typeof job extends fc.Arbitrary<infer J> ? J : never;

/** Each rank recorded some range of steps. start / 1000 is the collective's id. */
function record({ perStep, steps, cuts }: Job, numbers: 'sequence' | 'steps') {
  return cuts.map(([before, after], r) => {
    const entries: Drawn[] = [];
    for (let s = Math.min(before, steps - 1); s < Math.max(before + 1, steps - after) && s < steps; s++) {
      perStep.forEach((bytes, k) => {
        const id = s * perStep.length + k;
        entries.push({
          start: id * 1000,
          end: id * 1000 + 1 + r,
          bytes,
          ...(numbers === 'sequence' ? { sequence: id } : { step: s }),
        });
      });
    }
    return rank(r, columns(entries, [G]));
  });
}

const idsOf = (ranks: ReturnType<typeof record>, r: number) =>
  Array.from(ranks[r]!.collectives.start, (t) => t / 1000);

describe.each(['sequence', 'steps'] as const)('matching by %s', (numbers) => {
  it('pairs the same collectives, wherever recordings begin and end, and all that two ranks have', () => {
    fc.assert(
      fc.property(job, (drawn) => {
        const ranks = record(drawn, numbers);
        const matched = matchCollectives(ranks);
        const found = new Map<number, number>();
        for (let i = 0; i < matched.length; i++) {
          const ids = new Set<number>();
          for (let m = matched.memberStart[i]!; m < matched.memberStart[i + 1]!; m++)
            ids.add(idsOf(ranks, matched.memberRank[m]!)[matched.memberEntry[m]!]!);
          expect(ids.size).toBe(1);
          found.set([...ids][0]!, matched.memberStart[i + 1]! - matched.memberStart[i]!);
        }
        const seen = new Map<number, number>();
        for (const r of ranks.keys()) for (const id of idsOf(ranks, r)) seen.set(id, (seen.get(id) ?? 0) + 1);
        expect(found).toEqual(new Map([...seen].filter(([, n]) => n > 1).sort((a, b) => a[0] - b[0])));
        expect(matched.unmatched).toBe(0);
        const total = ranks.reduce((n, r) => n + r.collectives.length, 0);
        expect(matched.memberEntry.length + matched.outside).toBe(total);
      }),
    );
  });
});

describe('any lists', () => {
  const entry = fc.record({
    bytes: fc.constantFrom(1, 2, 3),
    kind: fc.constantFrom('all_reduce' as const, 'all_to_all' as const, 'send' as const),
    peer: fc.integer({ min: -1, max: 2 }),
    sequence: fc.option(fc.nat(5), { nil: Number.NaN }),
    step: fc.nat(2),
  });

  it('put every entry into at most one instance, and the counts add up', () => {
    fc.assert(
      fc.property(fc.array(fc.array(entry, { maxLength: 10 }), { minLength: 1, maxLength: 4 }), (lists) => {
        const ranks = lists.map((list, r) =>
          rank(
            r,
            columns(
              list.map((e, i) => ({ ...e, start: i, end: i + 1 })),
              [groupOf([0, 1, 2, 3])],
            ),
          ),
        );
        const m = matchCollectives(ranks);
        for (let i = 0; i < m.length; i++) {
          const places = m.memberRank.subarray(m.memberStart[i]!, m.memberStart[i + 1]!);
          expect(places.length).toBeGreaterThan(1);
          expect(new Set(places).size).toBe(places.length);
        }
        const used = new Set(Array.from(m.memberEntry, (e, k) => `${m.memberRank[k]}:${e}`));
        expect(used.size).toBe(m.memberEntry.length);
        expect(m.confidence).toBeGreaterThanOrEqual(0);
        expect(m.confidence).toBeLessThanOrEqual(1);
        const total = lists.reduce((n, l) => n + l.length, 0);
        expect(m.memberEntry.length + m.outside + m.unmatched + m.alone).toBe(total);
      }),
    );
  });

  it('any lists have a common subsequence in order, also when too long to compare in full', () => {
    const list = fc.array(fc.nat(3), { maxLength: 30 }).map((l) => Int32Array.from(l));
    const check = (a: Int32Array, b: Int32Array) => {
      let last = -1;
      let count = 0;
      commonSubsequence(a, b).forEach((index, i) => {
        if (index < 0) return;
        expect(a[index]).toBe(b[i]);
        expect(index).toBeGreaterThan(last);
        last = index;
        count++;
      });
      return count;
    };
    fc.assert(fc.property(list, list, (a, b) => void check(a, b)));
    const long = Int32Array.from({ length: 5000 }, (_, i) => (i * 7919) % 101);
    const holed = long.filter((_, i) => i % 50 !== 7);
    expect(check(long, holed)).toBeGreaterThan(holed.length * 0.98);
  });
});
