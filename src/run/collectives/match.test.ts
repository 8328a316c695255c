import { describe, expect, it } from 'vitest';
import { columns, type Drawn, groupOf, membersOf, rank } from '../../../test/helpers/collectives.js';
import { matchCollectives } from './match.js';

const G = groupOf([0, 1]);
const at = (start: number, more: Omit<Drawn, 'start' | 'end'> = {}): Drawn => ({
  start,
  end: start + 5,
  ...more,
});
const match = (...ranks: readonly (readonly Drawn[])[]) =>
  matchCollectives(ranks.map((entries, r) => rank(r, columns(entries, [G]))));

describe('with sequence numbers', () => {
  it('pairs equal numbers, whenever the recordings began', () => {
    const a = [at(0, { sequence: 5 }), at(10, { sequence: 6 }), at(20, { sequence: 7 })];
    const b = [at(3, { sequence: 6 }), at(13, { sequence: 7 }), at(23, { sequence: 8 })];
    const m = match(a, b);
    expect(membersOf(m)).toEqual(['0:1 1:0', '0:2 1:1']);
    expect(m).toMatchObject({ outside: 2, unmatched: 0, alone: 0, confidence: 1 });
    expect(m.groups[0]).toMatchObject({ confidence: 1, instances: 2, captured: [0, 1] });
  });

  it('counts what is missing in between as unmatched', () => {
    const m = match(
      [at(0, { sequence: 1 }), at(10, { sequence: 2 }), at(20, { sequence: 3 })],
      [at(0, { sequence: 1 }), at(20, { sequence: 3 })],
    );
    expect([membersOf(m), m.unmatched]).toEqual([['0:0 1:0', '0:2 1:1'], 1]);
    expect(m.confidence).toBeCloseTo(0.8);
  });

  it('keeps the parts of a coalesced collective apart', () => {
    const parts = [at(0, { sequence: 1 }), at(10, { sequence: 1 })];
    expect(membersOf(match(parts, parts))).toEqual(['0:0 1:0', '0:1 1:1']);
  });

  it('does not trust numbers that pair different things', () => {
    const kinds = ['all_gather', 'all_reduce', 'all_gather', 'all_reduce'] as const;
    const counted = (from: number) =>
      kinds.map((kind, i) => at(i * 10, { kind, sequence: from + i, step: 1 }));
    const m = match(counted(1), counted(2));
    expect(membersOf(m)).toEqual(['0:0 1:0', '0:1 1:1', '0:2 1:2', '0:3 1:3']);
    expect(m.groups[0]!.confidence).toBe(0.9);
  });
});

describe('with sequence numbers on some entries', () => {
  it('trusts the numbers that are there', () => {
    const list = (shift: number) => [
      at(0, { step: 1 }),
      ...[1, 2, 3].map((k) => at(k * 10, { sequence: k + shift, step: 1 })),
    ];
    const m = match(list(0), list(1));
    expect(membersOf(m).sort()).toEqual(['0:0 1:0', '0:2 1:1', '0:3 1:2']);
    expect(m.groups[0]!.confidence).toBeCloseTo((2 * 1 + 0.9) / 3);
  });
});

describe('without sequence numbers', () => {
  it('pairs the k-th of each step', () => {
    const a = [at(0, { step: 3 }), at(10, { step: 4 }), at(20, { step: 4 })];
    const b = [at(10, { step: 4 }), at(20, { step: 4 }), at(30, { step: 5 })];
    const m = match(a, b);
    expect(membersOf(m)).toEqual(['0:1 1:0', '0:2 1:1']);
    expect(m).toMatchObject({ outside: 2, unmatched: 0, confidence: 0.9 });
  });

  it('aligns steps that lack a collective, with less confidence', () => {
    const sizes = (...bytes: number[]) => bytes.map((b, i) => at(i * 10, { step: 1, bytes: b }));
    const m = match(sizes(1, 2, 3, 4), sizes(1, 3, 4));
    expect(membersOf(m)).toEqual(['0:0 1:0', '0:2 1:1', '0:3 1:2']);
    expect(m.unmatched).toBe(1);
    expect(m.confidence).toBeLessThan(0.8);
  });

  it('lets all-to-alls differ in size, and nothing else', () => {
    const of = (kind: 'all_to_all' | 'all_reduce', bytes: number) => [at(0, { step: 1, kind, bytes })];
    expect(match(of('all_to_all', 10), of('all_to_all', 20)).length).toBe(1);
    expect(match(of('all_reduce', 10), of('all_reduce', 20)).length).toBe(0);
  });

  it('pairs from the end where steps have no numbers', () => {
    const list = (n: number) => Array.from({ length: n }, (_, i) => at(i * 10));
    const m = match(list(4), list(3));
    expect(membersOf(m).sort()).toEqual(['0:1 1:0', '0:2 1:1', '0:3 1:2']);
    expect(m).toMatchObject({ outside: 1, unmatched: 0, confidence: 0.5 });
  });
});

describe('groups', () => {
  it('groups with the same members are one group, whatever ranks call them', () => {
    const m = matchCollectives([
      rank(0, columns([at(0, { sequence: 1 })], [groupOf([0, 1], '7')])),
      rank(1, columns([at(0, { sequence: 1 })], [groupOf([0, 1], '9')])),
    ]);
    expect(m.length).toBe(1);
  });

  it('groups with the same members are two groups when a rank has two', () => {
    const both = [groupOf([0, 1], 'dp'), groupOf([0, 1], 'tp')];
    const m = matchCollectives([
      rank(0, columns([at(0, { sequence: 1, group: 0 }), at(10, { sequence: 1, group: 1 })], both)),
      rank(1, columns([at(0, { sequence: 1, group: 1 }), at(10, { sequence: 1, group: 0 })], both)),
    ]);
    expect(membersOf(m)).toEqual(['0:0 1:1', '0:1 1:0']);
  });

  it('groups with one captured member are left alone', () => {
    const m = matchCollectives([
      rank(0, columns([at(0, { sequence: 1 })], [groupOf([0, 2])])),
      rank(1, columns([at(0, { sequence: 1 })], [groupOf([1, 3])])),
    ]);
    expect(m).toMatchObject({ length: 0, alone: 2, confidence: 0 });
  });

  it('say how many of their members were seen', () => {
    const group = groupOf([0, 1, 2, 3, 4, 5, 6, 7]);
    const ranks = [1, 4, 6].map((r) => rank(r, columns([at(0, { sequence: 1 })], [group])));
    const { groups, ranks: numbers } = matchCollectives(ranks);
    expect([groups[0]!.captured.map((index) => numbers[index]), groups[0]!.size]).toEqual([[1, 4, 6], 8]);
  });
});

describe('sends and receives', () => {
  it('pair by direction and order: each side has its own numbers', () => {
    const send = (start: number, peer: number, sequence: number) =>
      at(start, { kind: 'send', peer, sequence, step: 1 });
    const recv = (start: number, peer: number, sequence: number) =>
      at(start, { kind: 'recv', peer, sequence, step: 1 });
    const m = match(
      [send(0, 1, 1), recv(10, 1, 2), send(20, 1, 3)],
      [send(0, 0, 1), recv(5, 0, 2), recv(25, 0, 3)],
    );
    expect(membersOf(m).sort()).toEqual(['0:0 1:1', '0:1 1:0', '0:2 1:2']);
  });

  it('sends and receives are not paired when the other side is unknown', () => {
    expect(match([at(0, { kind: 'send' })], [at(0, { kind: 'recv' })])).toMatchObject({
      length: 0,
      alone: 2,
    });
  });
});

describe('the first of a group after the profiler started', () => {
  it('the first collective of a group after the profiler started is marked when it is the first of any rank', () => {
    const of = (from: number) =>
      columns(
        [0, 1, 2, 3].map((i) => at(i * 10, { sequence: from + i })),
        [G],
        { profilerStart: true },
      );
    const m = matchCollectives([rank(0, of(0)), rank(1, of(1))]);
    expect([membersOf(m), [...m.first]]).toEqual([
      ['0:1 1:0', '0:2 1:1', '0:3 1:2'],
      [1, 0, 0],
    ]);
  });
});
