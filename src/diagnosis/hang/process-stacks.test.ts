import { describe, expect, it } from 'vitest';
import { decide } from '../../answers/kit/decide.js';
import { hangAnswer } from '../../answers/run/hang.js';
import type { StackFrame, StackProfile } from '../../model/stack-profile.js';
import { processStacks, type RankProfile } from './process-stacks.js';
import { stateOf } from './stack-state.js';

const frame = (name: string, file: string, line = 1): StackFrame => ({
  function: name,
  file,
  line,
  isOwn: file === 'train.py',
});
const OWN = frame('step', 'train.py', 12);
const REDUCE = [frame('all_reduce', 'torch/distributed/distributed_c10d.py'), OWN];
const WORKERS = [
  frame('wait', 'multiprocessing/connection.py'),
  frame('_MultiProcessingDataLoaderIter._try_get_data', 'torch/utils/data/dataloader.py'),
  OWN,
];

function dump(rank: number | null, frames: readonly StackFrame[], pid = 7): RankProfile {
  const stacks = [{ frames, samples: 1 }];
  return {
    rank,
    profile: {
      kind: 'dump',
      pid,
      command: '',
      rank: null,
      state: 'runs',
      threads: [{ name: 'MainThread', isMain: true, isActive: null, stacks }],
    },
  };
}
const samples = (...stacks: StackProfile['threads'][number]['stacks']): RankProfile => ({
  rank: null,
  profile: {
    kind: 'samples',
    pid: null,
    command: '',
    rank: null,
    state: 'runs',
    threads: [{ name: '', isMain: true, isActive: null, stacks }],
  },
});
function judge(...profiles: RankProfile[]) {
  const seen = {
    evidence: { hang: null, oftenLast: null, isStuck: false, stacks: processStacks(profiles) },
    job: { processes: new Map() },
  };
  return hangAnswer(seen) && decide(seen, [hangAnswer]).verdict;
}

describe('what a stack shows', () => {
  it.each([
    [REDUCE, 'collective', 'all_reduce'],
    [WORKERS, 'input-wait', '_try_get_data'],
    [
      [OWN, frame('_MapDatasetFetcher.fetch', 'torch/utils/data/_utils/fetch.py'), OWN],
      'input-work',
      'fetch',
    ],
    [
      [frame('init_process_group', 'torch/distributed/distributed_c10d.py'), OWN],
      'collective',
      'init_process_group',
    ],
    [[frame('synchronize', 'torch/cuda/__init__.py'), OWN], 'gpu', 'synchronize'],
    [[frame('Connection._recv', 'multiprocessing/connection.py'), OWN], 'receive', '_recv'],
    [[frame('Thread.join', 'threading.py'), OWN], 'lock', 'join'],
    [[OWN], 'other', 'step'],
  ] as const)('%#: %j', (frames, doing, call) => {
    expect(stateOf(frames)).toEqual({ doing, call, at: 'train.py:12 in step' });
  });
});

describe('the verdict from stacks alone', () => {
  it('is the rank that is not where the others wait', () => {
    const verdict = judge(dump(0, REDUCE), dump(1, REDUCE), dump(2, WORKERS));
    expect(verdict).toMatchObject({ bottleneck: 'data', cause: 'rank-elsewhere' });
    expect(verdict!.sentence).toMatch(
      /rank 2 waits for a DataLoader worker .* while ranks 0–1 wait for it in all_reduce/,
    );
  });

  it('names processes where ranks are not known', () => {
    const two = judge(dump(null, REDUCE, 10), dump(null, WORKERS, 11));
    expect(two!.sentence).toMatch(/process 11 waits for a .* while process 10 waits for it in all_reduce$/);
    const three = judge(dump(null, REDUCE, 10), dump(null, REDUCE, 12), dump(null, WORKERS, 11));
    expect(three!.sentence).toMatch(/while 2 others wait for it in all_reduce$/);
  });

  it('is the rank at another line, but only if nothing moves', () => {
    const at = (rank: number, line: number) => dump(rank, [frame('step', 'train.py', line)]);
    const once = [at(0, 88), at(1, 88), at(2, 12)];
    expect(judge(...once)).toMatchObject({ bottleneck: 'unknown' });
    const verdict = judge(...once, ...once);
    expect(verdict).toMatchObject({ bottleneck: 'host', cause: 'rank-elsewhere' });
    expect(verdict!.sentence).toMatch(
      /rank 2 is at train\.py:12 in step while ranks 0–1 stay at train\.py:88 in step/,
    );
    expect(judge(...once, at(0, 88), at(1, 90), at(2, 12))).toMatchObject({ bottleneck: 'unknown' });
  });

  it('needs more than one look', () => {
    expect(judge(dump(0, WORKERS))).toMatchObject({
      bottleneck: 'unknown',
      next: [expect.stringMatching(/triage --stacks/)],
    });
    expect(judge(dump(0, WORKERS), dump(0, [OWN]), dump(0, WORKERS))).toMatchObject({
      bottleneck: 'unknown',
    });
    expect(judge(dump(0, WORKERS), dump(0, WORKERS))).toMatchObject({ bottleneck: 'data', confidence: 0.7 });
  });

  it('needs enough samples, most of them alike, and a state that tells', () => {
    const waits = { frames: WORKERS, samples: 30 };
    expect(judge(samples(waits, { frames: [OWN], samples: 10 }))).toMatchObject({
      bottleneck: 'data',
      sentence: expect.stringMatching(/75% of 40 samples/),
    });
    expect(judge(samples({ ...waits, samples: 10 }))).toMatchObject({ bottleneck: 'unknown' });
    expect(judge(samples(waits, { frames: [OWN], samples: 40 }))).toMatchObject({ bottleneck: 'unknown' });
    expect(judge(samples({ frames: [OWN], samples: 40 }))).toMatchObject({ bottleneck: 'unknown' });
  });

  it('is none without stacks', () => expect(judge()).toBeNull());
});

describe('ranks that do not answer', () => {
  const silent = (rank: number, state: 'silent' | 'stopped'): RankProfile => ({
    rank,
    profile: { kind: 'dump', pid: null, command: '', rank, state, threads: [] },
  });

  it.each(['silent', 'stopped'] as const)('hold up the others: %s', (state) => {
    const stacks = processStacks([silent(2, state), silent(2, state)]);
    expect(stacks).toMatchObject([{ rank: 2, states: [{ doing: state }], hasMoved: false }]);
  });
});
