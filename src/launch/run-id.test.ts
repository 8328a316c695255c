import { describe, expect, it } from 'vitest';
import { isRunOf, launchIndex, newRunId, sharedRunId } from './run-id.js';

describe('the id that launches of one job share', () => {
  it.each([
    [{ WHYSLOW_RUN: 'mine', SLURM_JOB_ID: '7', SLURM_STEP_ID: '0' }, 'mine'],
    [{ SLURM_JOB_ID: '7', SLURM_STEP_ID: '2' }, 'slurm-7-2'],
    // The batch script itself, which may run several commands.
    [{ SLURM_JOB_ID: '7' }, null],
    [{ RAY_JOB_ID: '01000000' }, 'ray-01000000'],
    [{ TORCHELASTIC_RUN_ID: 'none' }, null],
    [{ TORCHELASTIC_RUN_ID: 'a/b c' }, 'elastic-a-b-c'],
    [{}, null],
  ])('%j: %s', (env, id) => {
    expect(sharedRunId(env)).toBe(id);
  });

  it('is a new one each time where no launcher gives one', () => {
    expect(newRunId()).not.toBe(newRunId());
  });

  it('is the same after a restart by torchrun', () => {
    expect(isRunOf('x.2', 'x')).toBe(true);
    expect(isRunOf('x+1a2b3c4d', 'x')).toBe(true);
    expect(isRunOf('xy', 'x')).toBe(false);
  });
});

describe('the index of a launch among those of its job', () => {
  it.each([
    [{}, ['torchrun', '--nnodes=2', '--node-rank=1', 'train.py'], 1],
    [{}, ['torchrun', '--node_rank', '3', 'train.py'], 3],
    [{}, ['accelerate', 'launch', '--machine_rank', '2', 'train.py'], 2],
    [{ SLURM_PROCID: '5' }, ['python', 'train.py'], 5],
    [{ SLURM_PROCID: '5' }, ['torchrun', '--node-rank=0', 'train.py'], 0],
    [{}, ['python', 'train.py'], 0],
  ])('%j %j: %i', (env, command, index) => {
    expect(launchIndex(env, command)).toBe(index);
  });
});
