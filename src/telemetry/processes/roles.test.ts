import { describe, expect, it } from 'vitest';
import { type DrawnProcess, drawJob } from '../../../test/helpers/triage.js';
import { rolesOf } from './roles.js';

const roles = (processes: readonly DrawnProcess[], version = '2.11.0') => {
  const recording = drawJob({ processes });
  const withVersion = recording.processes.map((p) => ({ ...p, torchVersion: version }));
  return [...rolesOf({ ...recording, processes: withVersion })].map(([pid, role]) => `${pid} ${role}`);
};
const SPAWNED = 'python -c from multiprocessing.spawn import spawn_main; spawn_main() --multiprocessing-fork';

describe('roles', () => {
  it('tells DataLoader workers by their name', () => {
    expect(roles([{ pid: 1 }, { pid: 2, parent: 1, name: 'pt_data_worker' }])).toEqual([
      '1 trainer',
      '2 worker',
    ]);
  });

  it('tells workers of an older torch by being copies of the process that trains', () => {
    const forked = [{ pid: 1 }, { pid: 2, parent: 1 }];
    const spawned = [{ pid: 1 }, { pid: 2, parent: 1, gpu: false, command: SPAWNED }];
    expect(roles(forked, '2.3.1')).toEqual(['1 trainer', '2 worker']);
    expect(roles(spawned, '2.3.1')).toEqual(['1 trainer', '2 worker']);
  });

  it('ranks are processes that open a GPU their parent has not opened; workers are not', () => {
    const ranks = [2, 3].map((pid) => ({ pid, parent: 1, gpu: true, command: SPAWNED }));
    expect(roles([{ pid: 1, gpu: false }, ...ranks], '2.3.1')).toEqual([
      '1 launcher',
      '2 trainer',
      '3 trainer',
    ]);
  });

  it('ranks without a GPU are distinguished from workers by the name of workers', () => {
    const ranks = [2, 3].map((pid) => ({ pid, parent: 1, gpu: false, command: SPAWNED }));
    expect(roles([{ pid: 1, gpu: false }, ...ranks])).toEqual(['1 launcher', '2 trainer', '3 trainer']);
  });

  it('knows launchers, compilers and helpers', () => {
    expect(
      roles([
        { pid: 1, command: '/venv/bin/python /venv/bin/torchrun --nproc-per-node 2 train.py', gpu: false },
        { pid: 2, parent: 1 },
        { pid: 3, parent: 2, command: 'python -c from multiprocessing.resource_tracker import main;main(5)' },
        { pid: 4, parent: 2, command: 'python /x/torch/_inductor/compile_worker/__main__.py --pickler' },
        { pid: 5, parent: 4, command: '/usr/local/cuda/bin/ptxas -v a.ptx', torch: false, gpu: false },
        { pid: 6, parent: 2, command: 'bash -c ls', torch: false, gpu: false },
      ]),
    ).toEqual(['1 launcher', '2 trainer', '3 helper', '4 compiler', '5 compiler', '6 helper']);
  });

  it('takes a named Python that it cannot look into for training', () => {
    expect(roles([{ pid: 1, torch: false, gpu: null }])).toEqual(['1 trainer']);
  });
});
