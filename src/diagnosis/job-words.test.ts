import { describe, expect, it } from 'vitest';
import type { FoundRun } from '../ingest/read-run.js';
import type { Manifest } from '../model/manifest.js';
import { jobWords, UNKNOWN_JOB } from './job-words.js';

const file = (of: 'run' | 'rank', path: string, launch: readonly string[] | null) =>
  ({
    path,
    kind: 'manifest',
    manifest: { of, launch, rank: null, anchors: [] } as never as Manifest,
  }) as never;
const run = (id: string, isAnalysed = false) => ({ id, isAnalysed }) as FoundRun;

const whole = (path: string, launch: readonly string[] | null) =>
  jobWords({ beside: [file('run', path, launch)], runs: [] });

describe('the job in advice', () => {
  it('is ready to paste', () => {
    const words = whole('my runs/a/run.json', ['torchrun', 'train it.py']);
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
      runs: [],
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
    expect(jobWords({ beside: [], runs: [] })).toEqual(UNKNOWN_JOB);
    expect(whole('run.json', null)).toEqual({ ...UNKNOWN_JOB, folder: '.' });
    expect(whole('a.tar!o/run.json', ['python']).folder).toBe('OUT');
  });

  it('is the training’s own where one command started several', () => {
    const [script, one] = [file('run', 'o/run.json', ['sh', 'both.sh']), ['python', 'one.py']];
    const beside = [script, file('rank', 'o/ranks/rank_0.json', one)];
    expect(jobWords({ beside, runs: [run('a', true), run('a+1')] }).command).toBe('python one.py');
    expect(jobWords({ beside, runs: [run('a', true), run('b')] }).command).toBe('sh both.sh');
    // The second has no run.json.
    const second = [file('rank', 'o/ranks/rank_0.1.json', one)];
    const words = jobWords({ beside: second, runs: [run('a'), run('a+1', true)] });
    expect(words).toEqual({ command: 'python one.py', folder: 'o', processes: new Map() });
  });
});
