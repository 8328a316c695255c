import { describe, expect, it } from 'vitest';
import { HEADER, readLog, steps } from '../../test/helpers/logs.js';
import { COLLECTIVE_KINDS, groupChecks } from '../facts/rank-collectives.js';
import { matchCollectives } from '../run/collectives/match.js';
import { divideWaits } from '../run/collectives/waits.js';
import { collectivesOfLog, MemberLists, membersOf } from './log-collectives.js';

const read = (...lines: readonly string[]) => collectivesOfLog(readLog(`${lines.join('\n')}\n`).runs[0]!);

describe('collectives of an event log', () => {
  it('collectives of an event log are its records of that name, in order of steps', () => {
    const [only] = read(
      HEADER,
      ...steps(10, 11, () => [
        'forward 5',
        'collective:all_reduce 2',
        'collective:all_gather 1',
        'collective:all_reduce 3',
      ]),
    );
    const c = only!.collectives;
    expect(Array.from(c.kind, (k) => COLLECTIVE_KINDS[k])).toEqual([
      ...['all_reduce', 'all_reduce', 'all_gather', 'all_reduce', 'all_reduce', 'all_gather'],
    ]);
    expect(Array.from(c.end, (end, i) => (end - c.start[i]!) / 1e6)).toEqual([2, 3, 1, 2, 3, 1]);
    expect([c.steps, c.numbered, c.timed, [...c.step]]).toEqual([[10, 11], true, false, [0, 0, 0, 1, 1, 1]]);
  });

  it('collectives of an event log are those that the job times itself, under the names of torch.distributed', () => {
    const names = [
      'all_reduce',
      'nccl:all_gather',
      'reduce_scatter_tensor',
      'reduce_metrics',
      'gather_batch',
    ];
    const [only] = read(HEADER, ...steps(10, 10, () => ['forward 5', ...names.map((name) => `${name} 2`)]));
    expect(only!.collectives.groups.map((group) => group.name)).toEqual([
      ...['all_reduce', 'all_gather', 'reduce_scatter_tensor'],
    ]);
    expect(Array.from(only!.collectives.kind, (k) => COLLECTIVE_KINDS[k])).toEqual([
      ...['all_reduce', 'all_gather', 'reduce_scatter'],
    ]);
  });

  it('share the lists of members among ranks, and list no more than fit', () => {
    const lists = new MemberLists();
    const groups = [
      'all_reduce',
      'all_gather@0-99999',
      ...Array.from({ length: 30 }, (_, i) => `send@${i}-99999`),
    ];
    const text = (rank: number) =>
      [
        HEADER.replace('"rank"', '"world_size":50000,"rank"'),
        ...steps(0, 0, () => groups.map((g) => `collective:${g} 2 r${rank}`)),
      ].join('\n');
    const [a, b] = [0, 1].map(
      (rank) => collectivesOfLog(readLog(`${text(rank)}\n`).runs[0]!, lists)[0]!.collectives,
    );
    expect(a!.groups[0]!.ranks).toHaveLength(50_000);
    expect(b!.groups[0]!.ranks).toBe(a!.groups[0]!.ranks);
    const listed = a!.groups.filter((g) => g.ranks !== null).length;
    expect(listed).toBeLessThan(groups.length);
    expect(groupChecks(a!)).toMatchObject([{ code: 'groups-not-listed', count: groups.length - listed }]);
  });

  it('show who waited', () => {
    const ms = (r: number) => (r === 1 ? 2 : 12);
    const lines = [0, 1, 2].flatMap((r) =>
      steps(0, 9, () => [`collective:all_reduce ${ms(r)} r${r}`, `training_step 50 r${r}`]),
    );
    const ranks = read(HEADER, ...lines);
    const matched = matchCollectives(ranks);
    expect([matched.length, [...matched.first].includes(1)]).toEqual([10, false]);
    expect(
      divideWaits(ranks, matched).ranks.map((r) => [r.rank, r.wait / 1e6, r.transfer / 1e6, r.caused / 1e6]),
    ).toEqual([
      [0, 100, 20, 0],
      [1, 0, 20, 100],
      [2, 100, 20, 0],
    ]);
  });

  it('collectives of an event log that ended while the device still computed last as long as the host waited for them', () => {
    const [only] = read(
      HEADER,
      ...steps(1, 1, () => [
        ...['collective:all_reduce 0.01 +30 gpu ^18 ~0.2', 'collective:all_reduce 5 +50 gpu ^18 ~0.2'],
        // NCCL's do not hold up the host.
        'collective:all_reduce 0.01 +70 gpu ^0.1 ~0.05',
      ]),
    );
    const c = only!.collectives;
    const ms = (ns: Float64Array) => Array.from(ns, (n) => Math.round(n / 1e4) / 100);
    expect([ms(c.start), ms(c.end), ms(c.exposed)]).toEqual([
      ...[
        [12.2, 50, 70],
        [30.01, 55, 70.01],
        [0.01, 5, 0.01],
      ],
    ]);
  });

  it('collectives of an event log are in order of start where that is known, and overlapping time counts once', () => {
    const [only] = read(
      HEADER,
      ...steps(1, 1, () => [
        ...['forward 5 +0 host', 'collective:all_reduce 4 +20 host', 'collective:all_gather 3 +10 host'],
        'collective:all_reduce 6 +18 host',
      ]),
    );
    const c = only!.collectives;
    expect(Array.from(c.start, (ns) => ns / 1e6)).toEqual([10, 18, 20]);
    expect(Array.from(c.exposed, (ns) => ns / 1e6)).toEqual([3, 6, 0]);
  });

  it.each([
    ['all_reduce', 4, [0, 1, 2, 3]],
    ['all_reduce', null, null],
    ['all_reduce@0-3', 8, [0, 1, 2, 3]],
    ['all_reduce@1-13/4', 16, [1, 5, 9, 13]],
    ['all_gather@0.2.5', 8, [0, 2, 5]],
    ['all_reduce@12-0123abcd', 64, null],
    ['all_reduce@3-0', 8, null],
    ['all_reduce@0-4/0', 8, null],
    ['all_reduce@dp', 8, null],
  ] as const)(
    'collectives of an event log have the members that capture names: %s of %s',
    (name, worldSize, members) => {
      expect(membersOf(name, worldSize)).toEqual(members);
    },
  );

  it('collectives of an event log have all ranks as members where the header has the world size', () => {
    const header = '{"whyslow": 1, "run": "a", "rank": 0, "world_size": 2}';
    const [only] = read(
      header,
      ...steps(0, 3, () => [
        'collective:all_reduce 2',
        'collective:grad_sync 3',
        'collective:all_reduce@0-1 2',
      ]),
    );
    const { groups, kind } = only!.collectives;
    expect(groups.map((g) => [g.name, g.ranks, g.named])).toEqual([
      ['all_reduce', [0, 1], true],
      ['grad_sync', [0, 1], true],
      ['all_reduce@0-1', [0, 1], true],
    ]);
    expect(new Set(Array.from(kind, (k) => COLLECTIVE_KINDS[k]))).toEqual(new Set(['all_reduce']));
  });

  it('collectives of an event log are empty without such records', () => {
    expect(read(HEADER, ...steps(0, 3, () => ['training_step 5']))).toEqual([]);
  });
});
