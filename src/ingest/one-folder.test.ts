import { describe, expect, it } from 'vitest';
import { rankFromPath } from '../sources/rank-name.js';
import { keepOneFolder } from './one-folder.js';
import type { RankedInput } from './ranks.js';
import type { RunInputs } from './read-run.js';

const STEPS = [{ index: 3 }, { index: 6 }];
const trace = (path: string, rank: number, startNs: bigint, more: { run?: string; window?: string } = {}) =>
  ({
    rank,
    rankSource: 'name',
    hasEarlierWindow: false,
    of: 'trace',
    kind: 'kineto',
    path,
    hints: rankFromPath(path),
    identity: { window: more.window ?? '3-6' },
    summary: { run: more.run ?? null, window: { startNs, endNs: startNs }, steps: STEPS },
  }) as unknown as RankedInput;
const inputs = (members: readonly RankedInput[], beside: readonly string[] = []) =>
  ({
    members,
    beside: beside.map((path) => ({ path })),
    problems: [{ code: 'duplicate-rank', count: 1, message: '', consequence: '', first: null }],
  }) as unknown as RunInputs;
const kept = (run: RunInputs) => [...run.members.map((m) => m.path), ...run.beside.map((m) => m.path)];

describe('keepOneFolder', () => {
  it('of several runs in one folder, only the newest and its own files are kept', () => {
    const run = keepOneFolder(
      inputs(
        [
          trace('z/a/rank0.json', 0, 100n),
          trace('z/b/rank0.json', 0, 300n),
          trace('z/c/rank0.json', 0, 200n),
        ],
        ['z/a/dmon.txt', 'z/b/dmon.txt', 'z/c/logs/torch.log', 'z/query.csv'],
      ),
    );
    expect(kept(run)).toEqual(['z/b/rank0.json', 'z/b/dmon.txt', 'z/query.csv']);
    expect(run.problems).toMatchObject([
      {
        code: 'other-folder',
        message: 'the same steps are in 3 folders, so these are several runs',
        consequence: 'only z/b was analyzed; pass the path of another to analyze that',
      },
    ]);
  });

  it('prefers the folder with the most ranks', () => {
    const both = [trace('a/rank0.json', 0, 1n), trace('a/rank1.json', 1, 1n), trace('rank0.json', 0, 9n)];
    expect(kept(keepOneFolder(inputs(both, ['x.csv'])))).toEqual(['a/rank0.json', 'a/rank1.json']);
    const packed = [trace('r.tar!a/rank0.json', 0, 1n), trace('r.tar!rank0.json', 0, 2n)];
    expect(kept(keepOneFolder(inputs(packed)))).toEqual(['r.tar!rank0.json']);
  });

  it.each([
    ['a folder for each rank', [trace('n0/rank0.json', 0, 1n), trace('n1/rank1.json', 1, 1n)]],
    ['other steps', [trace('a/rank0.json', 0, 1n), trace('b/rank0.json', 0, 2n, { window: '9-12' })]],
    ['one folder', [trace('a/rank0.json', 0, 1n), trace('a/rank0.2.json', 0, 2n)]],
    [
      'folders named by step',
      ['17', '117'].map((n) => trace(`t/step_${n}/rank-0-coord-0-trace.json`, 0, 1n)),
    ],
    ['runs with names', ['a', 'b'].map((run) => trace(`${run}/rank0.json`, 0, 1n, { run }))],
  ])('leaves %s alone', (_, members) => {
    const run = inputs(members);
    expect(keepOneFolder(run)).toBe(run);
  });
});
