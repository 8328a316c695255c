import { describe, expect, it } from 'vitest';
import type { EventLogRun } from '../model/event-log.js';
import type { Manifest } from '../model/manifest.js';
import { logOf, type RankInput, type RunInput } from './input.js';
import { keepOneRun } from './one-run.js';
import type { RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';

const member = (path: string, more: object) => ({ path, ...more }) as RankInput;
const manifest = (path: string, value: object) =>
  ({ path, of: 'run', evidence: { manifest: value as Manifest } }) as RunInput;
const runJson = (run: string, startedNs: number | null) =>
  manifest('run.json', { of: 'run', run, startedNs, command: [] });
const rankJson = (rank: number, run: string, wallNs: number) =>
  manifest(`rank_${rank}.json`, { of: 'rank', run, rank, anchors: [{ at: 'start', wallNs }] });
const runOf = (id: string | null, wall: number | null = null, rows = 5, world?: number): EventLogRun =>
  ({
    id,
    rows,
    header: wall === null ? null : { startedNs: wall, worldSize: world },
  }) as never;
const log = (rank: number, ...runs: readonly EventLogRun[]): RankedInput => ({
  rank,
  rankSource: 'file',
  hasEarlierWindow: false,
  ...member(`log${rank}`, { of: 'log', log: { runs } }),
});
const trace = (rank: number, endNs: number | null): RankedInput => ({
  rank,
  rankSource: 'file',
  hasEarlierWindow: false,
  ...member(`trace${rank}`, {
    of: 'trace',
    summary: { window: { endNs: endNs === null ? null : BigInt(endNs) } },
  }),
});
const inputs = (members: readonly RankedInput[], beside: readonly RunInput[] = []): RunInputs => ({
  members,
  beside,
  ignored: [],
  problems: [],
  runs: [],
  storedBytes: 0,
  decodedBytes: 0,
  seconds: 1,
});
const kept = (...args: Parameters<typeof inputs>) => {
  const run = keepOneRun(inputs(...args));
  return [
    ...run.members.map((m) =>
      `${m.path} ${
        logOf(m)
          ?.runs.map((r) => r.id)
          .join() ?? ''
      }`.trim(),
    ),
    ...run.beside.map((m) => m.path),
    ...run.problems.map((p) => p.message),
  ];
};
const DAY = 86_400e9;

describe('keepOneRun', () => {
  it('keeps the newest run with records, and the manifests that belong to it', () => {
    const members = [log(0, runOf('a', DAY), runOf('b', 9 * DAY)), log(1, runOf('a', DAY))];
    const beside = [runJson('b', 9 * DAY), rankJson(0, 'b', 9 * DAY), rankJson(1, 'a', DAY)];
    expect(kept(members, beside)).toEqual([
      'log0 b',
      ...['run.json', 'rank_0.json'],
      'some files belong to another run (a): 1 manifest, records of 2 logs',
    ]);
  });

  it('keeps the previous run if the newest has no records yet', () => {
    const beside = [runJson('b', 9 * DAY), rankJson(0, 'a', DAY)];
    expect(kept([log(0, runOf('a', DAY))], beside)).toEqual([
      'log0 a',
      'rank_0.json',
      'some files belong to another run (b): 1 manifest',
    ]);
  });

  it('drops traces that ended before the run began', () => {
    const beside = [runJson('b', 9 * DAY)];
    expect(kept([trace(0, 9.5 * DAY), trace(1, 8 * DAY), trace(2, null)], beside)).toEqual([
      ...['trace0', 'trace2', 'run.json'],
      'some files belong to another run: 1 trace',
    ]);
    // Clocks differ by seconds. If all traces are older, they are kept.
    expect(kept([trace(0, 9 * DAY - 5e9)], beside)).toEqual(['trace0', 'run.json']);
    expect(kept([trace(0, DAY)], beside)).toEqual(['trace0', 'run.json']);
  });

  it('keeps the newer run if it has traces and the older one has logs', () => {
    const members = [trace(0, 9.5 * DAY), log(0, runOf('a', DAY))];
    const beside = [runJson('b', 9 * DAY), rankJson(0, 'b', 9 * DAY)];
    expect(kept(members, beside).slice(0, 3)).toEqual(['trace0', 'run.json', 'rank_0.json']);
  });

  it('joins runs that ranks named one by one: different ranks, same world size, same time', () => {
    const rank = (r: number, id: string, at: number, world = 3) => log(r, runOf(id, at, 5, world));
    const beside = [runJson('a', DAY), rankJson(1, 'b', DAY + 2e9)];
    const one = inputs([rank(0, 'a', DAY), rank(1, 'b', DAY + 2e9), rank(2, 'c', DAY - 3e9)], beside);
    expect({ ...keepOneRun(one), runs: [] }).toEqual(one);
    // Another time, another world size, or the same rank again: another run.
    const others = [rank(1, 'b', DAY - 90e9), rank(1, 'b', DAY - 2e9, 4), rank(0, 'b', DAY - 2e9)];
    for (const other of others)
      expect(kept([rank(0, 'a', DAY), other])).toEqual([
        'log0 a',
        'some files belong to another run (b): records of 1 log',
      ]);
    // The previous run, also named one by one.
    const before = [runOf('x', DAY / 2, 5, 2), runOf('y', DAY / 2, 5, 2)];
    const both = [log(0, before[0]!, runOf('a', DAY, 5, 2)), log(1, before[1]!, runOf('b', DAY, 5, 2))];
    expect(kept(both)).toEqual([
      ...['log0 a', 'log1 b'],
      'some files belong to another run (x): records of 2 logs',
    ]);
  });

  it('changes nothing if no file names a run, or all name the same', () => {
    const unnamed = inputs([log(0, runOf(null), runOf(null)), trace(1, DAY)]);
    expect(keepOneRun(unnamed)).toBe(unnamed);
    const one = inputs([log(0, runOf('a', 5), runOf(null))], [runJson('a', null)]);
    expect({ ...keepOneRun(one), runs: [] }).toEqual(one);
  });

  it('keeps the wanted run and lists all, oldest first', () => {
    const members = [log(0, runOf('a', DAY), runOf('b', 9 * DAY)), log(1, runOf('b', 9 * DAY))];
    const run = keepOneRun(inputs(members), 'a');
    expect(logOf(run.members[0]!)?.runs.map((r) => r.id)).toEqual(['a']);
    expect(run.members).toHaveLength(1);
    expect(run.runs).toMatchObject([
      { id: 'a', ranks: 1, isAnalyzed: true, startedNs: DAY },
      { id: 'b', ranks: 2, isAnalyzed: false },
    ]);
    expect(() => keepOneRun(inputs(members), 'c')).toThrow('there is no run c; the runs here are a, b');
  });

  it('knows the run of a trace from its header or from the run.json above it, whatever the times', () => {
    const at = (path: string, run: string | null): RankedInput => ({
      ...trace(0, 9.5 * DAY),
      ...member(path, { of: 'trace', summary: { run, window: { endNs: BigInt(9.5 * DAY) } } }),
    });
    const beside = [
      manifest('runs/a/run.json', { of: 'run', run: 'a', startedNs: DAY, command: ['a.py'] }),
      manifest('runs/b/run.json', { of: 'run', run: 'b', startedNs: 9 * DAY, command: [] }),
    ];
    const members = [at('runs/a/traces/t.json', null), at('runs/b/t.json', null), at('runs/b/u.json', 'a')];
    const paths = (wanted: string) => keepOneRun(inputs(members, beside), wanted).members.map((m) => m.path);
    expect(paths('a')).toEqual(['runs/a/traces/t.json', 'runs/b/u.json']);
    expect(paths('b')).toEqual(['runs/b/t.json']);
    expect(keepOneRun(inputs(members, beside)).runs[0]).toMatchObject({ id: 'a', command: 'a.py' });
  });

  it('counts nothing of another run: neither its telemetry nor its ranks as duplicates', () => {
    const at = (folder: string, value: RunInput) => ({ ...value, path: `out/${folder}/${value.path}` });
    const usage = { path: 'dmon.txt', of: 'run', evidence: {} } as RunInput;
    const files = (folder: string, id: string) => ({
      ...log(0, runOf(id, 0)),
      path: `out/${folder}/log0`,
      kind: 'events',
      hints: { step: null },
      identity: { window: id },
    });
    const both = inputs([files('one', 'a'), files('two', 'b')] as never, [
      at('one', runJson('a', 1)),
      at('one', usage),
      at('two', runJson('b', 2)),
      at('two', usage),
    ]);
    const duplicate = { code: 'duplicate-rank', count: 1, message: '', consequence: '', first: null };
    const run = keepOneRun({ ...both, problems: [duplicate] }, 'a');
    expect(run.beside.map((m) => m.path)).toEqual(['out/one/run.json', 'out/one/dmon.txt']);
    expect(run.problems.map((p) => p.code)).toEqual(['other-run']);
    expect(run.problems[0]!.message).toMatch(/1 manifest, 1 telemetry file, records of 1 log/);
  });
});
