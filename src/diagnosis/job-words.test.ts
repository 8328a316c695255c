import { describe, expect, it } from 'vitest';
import type { Manifest } from '../model/manifest.js';
import { jobWords, UNKNOWN_JOB } from './job-words.js';

const beside = (path: string, launch: readonly string[] | null) => [
  { path, kind: 'manifest', manifest: { of: 'run', launch } as Manifest } as never,
];

describe('the job in advice', () => {
  it('is ready to paste', () => {
    const words = jobWords({ beside: beside('my runs/a/run.json', ['torchrun', 'train it.py']) });
    expect(words).toEqual({ command: "torchrun 'train it.py'", folder: "'my runs/a'" });
  });

  it('has words that stand for what is not known', () => {
    expect(jobWords({ beside: [] })).toEqual(UNKNOWN_JOB);
    expect(jobWords({ beside: beside('run.json', null) })).toEqual({ ...UNKNOWN_JOB, folder: '.' });
    expect(jobWords({ beside: beside('a.tar!o/run.json', ['python']) }).folder).toBe('OUT');
  });
});
