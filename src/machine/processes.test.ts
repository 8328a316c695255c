import { describe, expect, it } from 'vitest';
import { fakeFiles, statLine } from '../../test/helpers/machine.js';
import { parseStat } from './proc-text.js';
import { factsOf, processTable, sampleProcess, treeOf } from './processes.js';
import { findJob, namedJob } from './watch-job.js';

const python = (pid: number, parent: number, more: Readonly<Record<string, string>> = {}) => ({
  [`/proc/${pid}/stat`]: statLine(pid, 'python', 'S', parent, pid),
  [`/proc/${pid}/cmdline`]: 'python\0train.py\0',
  [`/proc/${pid}/maps`]: '7f r-xp 0 0 0 /v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so\n',
  ...more,
});

describe('processes', () => {
  it('finds the tree, even where a process seems to be its own ancestor', () => {
    const files = fakeFiles({ ...python(10, 1), ...python(11, 10), ...python(12, 11), ...python(13, 13) });
    const table = processTable(files);
    expect(treeOf(10, table)).toEqual([10, 11, 12]);
    expect(treeOf(13, table)).toEqual([13]);
    expect(treeOf(99, table)).toEqual([]);
  });

  it('describes a process, and keeps none of its secrets', () => {
    const files = fakeFiles({
      ...python(10, 1),
      '/proc/10/environ': 'RANK=3\0AWS_SECRET_ACCESS_KEY=x\0OMP_NUM_THREADS=8\0',
      '/proc/10/fd/0': '->/dev/null',
      '/proc/10/fd/9': '->/dev/nvidia0',
      '/v/lib/python3.11/site-packages/torch/version.py': "__version__ = '2.11.0+cu130'\n",
    });
    expect(factsOf(files, 10, parseStat(files.read('/proc/10/stat')!)!)).toEqual({
      pid: 10,
      parent: 1,
      command: 'python train.py',
      torch: true,
      torchVersion: '2.11.0+cu130',
      gpu: true,
      environment: { RANK: '3', OMP_NUM_THREADS: '8' },
    });
  });

  it('describes a process of another user as far as it can', () => {
    const files = fakeFiles({ '/proc/10/stat': statLine(10, 'python', 'S', 1) });
    const facts = factsOf(files, 10, parseStat(files.read('/proc/10/stat')!)!);
    expect(facts).toMatchObject({ command: 'python', torch: false, gpu: null });
    expect(sampleProcess(files, 10)).toMatchObject({ readChars: null, waitsIn: null, threads: [{ id: 10 }] });
  });

  it('leaves out what has ended', () => {
    expect(sampleProcess(fakeFiles({}), 10)).toBeNull();
    const files = fakeFiles({ '/proc/10/stat': 'gone', '/proc/11/stat': '', '/proc/self/stat': 'x' });
    expect(processTable(files).size).toBe(0);
  });

  it('puts the main thread first', () => {
    const files = fakeFiles({
      ...python(20, 1),
      '/proc/20/task/9/stat': statLine(9, 'omp', 'R', 1),
      '/proc/20/task/20/stat': statLine(20, 'python', 'S', 1),
    });
    expect(sampleProcess(files, 20)!.threads.map((t) => t.id)).toEqual([20, 9]);
  });
});

describe('the job', () => {
  it('the job is the topmost process that has loaded torch', async () => {
    const shell = { '/proc/5/stat': statLine(5, 'bash', 'S', 1), '/proc/5/cmdline': 'bash\0' };
    const files = fakeFiles({ ...shell, ...python(10, 5), ...python(11, 10), ...python(12, 10) });
    expect(await findJob(files)).toEqual({ root: 10, others: [], hidden: 0 });
  });

  it('one of several jobs is chosen, and the others are named', async () => {
    const found = await findJob(fakeFiles({ ...python(10, 1), ...python(20, 1) }));
    expect([found.root, ...found.others].sort()).toEqual([10, 20]);
  });

  it('there is no job where nothing trains; processes of other users are counted', async () => {
    const other = { '/proc/10/stat': statLine(10, 'python', 'S', 1), '/proc/10/cmdline': 'python\0' };
    expect(await findJob(fakeFiles(other))).toEqual({ root: null, others: [], hidden: 1 });
  });

  it('the job of a worker is the process that started it', () => {
    const files = fakeFiles({ ...python(10, 1), '/proc/11/stat': statLine(11, 'pt_data_worker', 'S', 10) });
    expect(namedJob(files, 11).root).toBe(10);
  });

  it('must be there', () => {
    expect(() => namedJob(fakeFiles({}), 4711)).toThrow('there is no process 4711');
    const ended = fakeFiles({ '/proc/7/stat': statLine(7, 'python', 'Z', 1) });
    expect(() => namedJob(ended, 7)).toThrow('process 7 has ended');
  });
});
