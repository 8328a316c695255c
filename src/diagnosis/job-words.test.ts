import { describe, expect, it } from 'vitest';
import type { FoundRun } from '../ingest/read-run.js';
import type { Manifest } from '../model/manifest.js';
import { jobWords, UNKNOWN_JOB } from './job-words.js';

const file = (of: 'run' | 'rank', path: string, launch: readonly string[] | null) =>
  ({
    path,
    of: 'run',
    evidence: { manifest: { of, launch, rank: null, anchors: [] } as never as Manifest },
  }) as never;
const run = (id: string, isAnalyzed = false) => ({ id, isAnalyzed }) as FoundRun;

const whole = (path: string, launch: readonly string[] | null) =>
  jobWords({ members: [], beside: [file('run', path, launch)], runs: [] });

describe('the job in advice', () => {
  it('is ready to paste', () => {
    const words = whole('my runs/a/run.json', ['torchrun', 'train it.py']);
    expect(words).toEqual({ command: "torchrun 'train it.py'", folder: "'my runs/a'", processes: new Map() });
  });

  it('names the processes of ranks that still run', () => {
    const rank = (n: number, more: object) =>
      ({
        of: 'run',
        path: `ranks/rank_${n}.json`,
        evidence: { manifest: { of: 'rank', rank: n, anchors: [], ...more } },
      }) as never;
    const { processes } = jobWords({
      members: [],
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

  it('is the folder of archives, or the one archive', () => {
    const inside = (...paths: string[]) =>
      jobWords({ members: paths.map((path) => ({ path })), beside: [], runs: [] }).folder;
    expect(inside('o/step_20/rank-0.tar.gz!a.json', 'o/step_20/rank-1.tar.gz!b.json')).toBe('o/step_20');
    expect(inside('o/all.tar.gz!a.json', 'o/all.tar.gz!b.json')).toBe('o/all.tar.gz');
    expect(inside('-')).toBe('OUT');
  });

  it('is one folder above its event logs', () => {
    const members = [0, 1].map((r) => ({ path: `o/cuda_event_profiler/cuda_events_rank_${r}.jsonl` }));
    expect(jobWords({ members, beside: [], runs: [] }).folder).toBe('o');
  });

  it('has words that stand for what is not known', () => {
    expect(jobWords({ members: [], beside: [], runs: [] })).toEqual(UNKNOWN_JOB);
    expect(whole('run.json', null)).toEqual({ ...UNKNOWN_JOB, folder: '.' });
    expect(whole('a.tar!o/run.json', ['python']).folder).toBe('OUT');
  });

  it('the folder of a job is the one that holds all its files', () => {
    const folderOf = (...paths: string[]) =>
      jobWords({ members: paths.map((path) => ({ path })), beside: [], runs: [] }).folder;
    expect(folderOf('runs/a b/rank0.json', 'runs/a b/rank1.json')).toBe("'runs/a b'");
    expect(folderOf('/x/a/rank0.json', '/x/ab/rank1.json')).toBe('/x');
    expect(folderOf('rank0.json', 'b/rank1.json')).toBe('.');
    expect(folderOf('s3://bucket/a/0.json', 's3://bucket/b/1.json')).toBe('s3://bucket');
    for (const unknown of [
      ['/x/0.json', '/y/1.json'],
      ['s3://a/0.json', 's3://b/1.json'],
      ['../a/0.json', 'b/1.json'],
      ['-'],
      [],
    ])
      expect(folderOf(...unknown)).toBe('OUT');
  });

  it('is the training’s own where one command started several', () => {
    const [script, one] = [file('run', 'o/run.json', ['sh', 'both.sh']), ['python', 'one.py']];
    const beside = [script, file('rank', 'o/ranks/rank_0.json', one)];
    expect(jobWords({ members: [], beside, runs: [run('a', true), run('a+1')] }).command).toBe(
      'python one.py',
    );
    expect(jobWords({ members: [], beside, runs: [run('a', true), run('b')] }).command).toBe('sh both.sh');
    // The second has no run.json.
    const second = [file('rank', 'o/ranks/rank_0.1.json', one)];
    const words = jobWords({ members: [], beside: second, runs: [run('a'), run('a+1', true)] });
    expect(words).toEqual({ command: 'python one.py', folder: 'o', processes: new Map() });
  });
});
