import { describe, expect, it } from 'vitest';
import type { Manifest } from '../model/manifest.js';
import { jobWords, UNKNOWN_JOB } from './job-words.js';

const beside = (path: string, launch: readonly string[] | null) => [
  { path, kind: 'manifest', manifest: { of: 'run', launch } as Manifest } as never,
];

describe('the job in advice', () => {
  it('is ready to paste', () => {
    const words = jobWords({ beside: beside('my runs/a/run.json', ['torchrun', 'train it.py']) });
    expect(words).toEqual({ command: "torchrun 'train it.py'", folder: "'my runs/a'", processes: new Map() });
  });

  it('names the processes of ranks that still run', () => {
    const rank = (n: number, more: object) =>
      ({
        kind: 'manifest',
        path: `ranks/rank_${n}.json`,
        manifest: { of: 'rank', rank: n, anchors: [], ...more },
      }) as never;
    const { processes } = jobWords({
      beside: [
        rank(0, { pid: 10, host: 'node-1' }),
        rank(1, { pid: 11, host: 'a; rm -rf /' }),
        rank(2, { pid: 12, host: 'node-1', anchors: [{ at: 'end' }] }),
        rank(3, { pid: null, host: 'node-1' }),
      ],
    });
    expect([...processes]).toEqual([
      [0, { pid: 10, host: 'node-1' }],
      [1, { pid: 11, host: null }],
    ]);
  });

  it('has words that stand for what is not known', () => {
    expect(jobWords({ beside: [] })).toEqual(UNKNOWN_JOB);
    expect(jobWords({ beside: beside('run.json', null) })).toEqual({ ...UNKNOWN_JOB, folder: '.' });
    expect(jobWords({ beside: beside('a.tar!o/run.json', ['python']) }).folder).toBe('OUT');
  });
});
