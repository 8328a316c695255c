import { expect, it } from 'vitest';
import { cpuTime } from '../../../test/helpers/cpu-time.js';
import { groupChecks, type RankCollectives } from '../../facts/rank-collectives.js';
import type { Trace } from '../../model/trace.js';
import type { ProcessGroup } from '../../model/trace-data.js';
import { GroupTable } from './groups.js';

/** A table whose string ids are indices in `texts`. */
function tableOf(texts: readonly string[], groups: readonly Partial<ProcessGroup>[] = []) {
  const trace = {
    data: { header: { distributed: { worldSize: 8, groups } } },
    strings: { text: (id: number) => texts[id]! },
  };
  return new GroupTable(trace as unknown as Trace);
}

const NAMED = { name: 1, description: 0, ranks: 0, size: Number.NaN, start: Number.NaN, stride: Number.NaN };

it('gives the same members the same key, however they are recorded', () => {
  const table = tableOf(['', 'a', 'b', 'c', '[6, 2, 0, 4]'], [{ name: 'c', ranks: [0, 2, 4, 6] }]);
  table.indexOf({ ...NAMED, size: 4, start: 0, stride: 2 }, '');
  table.indexOf({ ...NAMED, name: 2, ranks: 4 }, '');
  table.indexOf({ ...NAMED, name: 3 }, '');
  expect(table.groups.map((g) => [g.name, g.key, g.size, g.ranks])).toEqual(
    ['a', 'b', 'c'].map((name) => [name, 'ranks 0-6:2', 4, [0, 2, 4, 6]]),
  );
});

it('finds a group again that is described in two ways', () => {
  const table = tableOf(['', 'a', '[0, 1]']);
  const byStride = table.indexOf({ ...NAMED, size: 2, start: 0, stride: 1 }, '');
  expect(table.indexOf({ ...NAMED, ranks: 2 }, '')).toBe(byStride);
  expect(table.groups).toHaveLength(1);
});

it('writes out a bounded number of ranks, and knows further groups by their key', () => {
  const size = 1 << 17;
  const table = tableOf(['', 'a']);
  for (let start = 0; start < 4000; start++) table.indexOf({ ...NAMED, size, start, stride: 3 }, '');
  const written = table.groups.reduce((n, g) => n + (g.ranks?.length ?? 0), 0);
  expect(written).toBeLessThanOrEqual(1 << 19);
  expect(new Set(table.groups.map((g) => g.key)).size).toBe(4000);
  for (const [start, g] of table.groups.entries())
    expect([g.key, g.size]).toEqual([`ranks ${start}-${start + (size - 1) * 3}:3`, size]);
  const unlisted = table.groups.filter((g) => g.ranks === null).length;
  const collectives = { source: 'trace', groups: table.groups } as unknown as RankCollectives;
  expect(groupChecks(collectives)).toMatchObject([{ code: 'groups-not-listed', count: unlisted }]);
});

it('writes out members once, whatever names they go by', () => {
  const configured = { name: 'x1', ranks: Array.from({ length: 50_000 }, (_, i) => i) };
  const table = tableOf(['', 'x1', ...Array.from({ length: 2000 }, (_, i) => `d${i}`)], [configured]);
  for (let i = 0; i < 2000; i++) table.indexOf({ ...NAMED, description: 2 + i }, '');
  expect(table.groups).toHaveLength(2000);
  expect(new Set(table.groups.map((g) => g.ranks)).size).toBe(1);
});

it('takes time in proportion to the groups', () => {
  const seconds = (count: number) => {
    const names = ['', ...Array.from({ length: count }, (_, i) => `g${i}`)];
    const lists = names.map((_, i) => `[0, ${i + 1}]`);
    const groups = names.map((name) => ({ name, ranks: [] }));
    const table = tableOf([...names, ...lists], groups);
    const from = cpuTime();
    for (let i = 1; i <= count; i++) table.indexOf({ ...NAMED, name: i, ranks: names.length + i }, '');
    expect(table.groups).toHaveLength(count);
    return cpuTime() - from;
  };
  seconds(5000);
  const short = Math.min(seconds(15_000), seconds(15_000));
  const long = Math.min(seconds(60_000), seconds(60_000));
  // Comparing each group with all before it would take sixteen times as long for four times the groups.
  expect(long).toBeLessThan(9 * short + 100);
});
