import { describe, expect, it } from 'vitest';
import { jobView } from '../../../test/helpers/draw-job.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { CpuUse, RankManifest } from '../../model/manifest.js';
import { threadsAnswer } from './threads.js';

const CPU: CpuUse = {
  used: 0.9,
  queued: 0.05,
  threads: 1,
  affinity: null,
  threadQueued: 0.02,
  threadRan: 0.85,
  threadsBy: 'default',
  background: [],
  throttled: null,
};
const HOG = { thread: 'Thread-1', file: 'train.py', line: 9, function: 'count', samples: 95 };

/** A job without GPU whose log has these phases, and what its threads did. */
function observed(
  step: (at: number) => readonly string[],
  cpu: Partial<CpuUse>,
  more: Partial<RankManifest> = {},
): Observed {
  const view = jobView({ step });
  const manifest = { cpu: { ...CPU, ...cpu }, cores: { allowed: 2, quota: null, ranks: 1 }, ...more };
  return {
    views: [view],
    critical: null,
    lateComputing: 0,
    health: { severe: null },
    inputs: { beside: [] },
    locations: { manifests: new Map([[view.rank, manifest]]) },
    evidence: { activity: new Map() },
  } as unknown as Observed;
}
const COMPUTES = (at: number) => [`forward 4 +${at} host`, `backward 5 +${at + 4} host`];
const IN_PYTHON = (at: number) => [`backward 2 +${at} host`];

describe('what threads add to phases', () => {
  it('another thread that runs longer than the training thread holds the interpreter lock', () => {
    const stacks = { samples: 100, lines: [], background: [HOG] };
    const claim = threadsAnswer(observed(COMPUTES, { threadRan: 0.14 }, { stacks }))!;
    expect(claim.bottleneck).toBe('host');
    expect(claim.words.headline).toMatch(/runs 14% of the time, and thread Thread-1 76%/);
  });

  it('nothing, if the training thread runs', () => {
    expect(threadsAnswer(observed(COMPUTES, {}))).toBeNull();
    const stacks = { samples: 100, lines: [], background: [HOG] };
    expect(threadsAnswer(observed(COMPUTES, { used: 0.95 }, { stacks }))).toBeNull();
  });

  it('a thread that sleeps is not busy in Python', () => {
    const claim = threadsAnswer(observed(IN_PYTHON, { threadRan: 0.08, threadQueued: 0.01, used: 0.09 }))!;
    expect(claim.bottleneck).toBe('host');
    expect(claim.words.headline).toMatch(/^the training thread waits for 91% of the time/);
  });
});
