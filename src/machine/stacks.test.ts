import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { fakeFiles } from '../../test/helpers/machine.js';
import { filesBelow, type RunCommand } from './files.js';
import { findPySpy, parseDump, StackSampler } from './stacks.js';

/** As py-spy 0.4 prints it, some fields left out. */
const DUMP = JSON.stringify([
  { pid: 7, thread_id: 1, thread_name: 'QueueFeederThread', os_thread_id: 9, active: false, frames: [] },
  {
    pid: 7,
    thread_id: 2,
    thread_name: 'MainThread',
    os_thread_id: 7,
    active: true,
    frames: [{ name: 'step', filename: '/me/train.py', short_filename: 'train.py', line: 3, locals: null }],
  },
]);

describe('py-spy', () => {
  it('gives stacks, the main thread first', () => {
    expect(parseDump(DUMP, 7)).toEqual([
      { id: 7, name: 'MainThread', frames: [{ name: 'step', file: '/me/train.py', line: 3 }] },
      { id: 9, name: 'QueueFeederThread', frames: [] },
    ]);
  });

  it('shows for which rank a send or receive waits, and asks for arguments only then', async () => {
    const frame = (name: string, locals: Readonly<Record<string, string>>) => ({
      name,
      filename: '/venv/torch/distributed/distributed_c10d.py',
      line: 2799,
      locals: Object.entries(locals).map(([of, repr]) => ({ name: of, repr, arg: true })),
    });
    const peerOf = (name: string, locals: Readonly<Record<string, string>>) =>
      parseDump(JSON.stringify([{ frames: [frame(name, locals)] }]), 7)![0]!.frames[0]!.peer;
    expect(peerOf('recv', { tensor: '<Tensor at 0x7f>', src: '4', group: 'None' })).toBe(4);
    expect(peerOf('send', { dst: '2', group: '<ProcessGroup at 0x7f>' })).toBe(2);
    expect(peerOf('send', { dst: 'None', group: 'None', group_dst: '3' })).toBe(3);
    // A position in a group is not a rank of the job.
    expect(peerOf('send', { dst: 'None', group: '<ProcessGroup at 0x7f>', group_dst: '3' })).toBeUndefined();
    expect(peerOf('all_reduce', { src: '4', group: 'None' })).toBeUndefined();
    const asked: (readonly string[])[] = [];
    const stdout = JSON.stringify([
      { os_thread_id: 7, thread_name: 'MainThread', frames: [frame('recv', {})] },
    ]);
    const sampler = new StackSampler('py-spy', async (_, args) => {
      asked.push(args);
      return { code: 0, stdout, stderr: '' };
    });
    await sampler.take([7]);
    await sampler.take([7]);
    expect(asked.map((args) => args.includes('--locals'))).toEqual([false, true]);
  });

  it.each(['', 'null', '{}', '[1, null, {"frames": 3}]', '[{"frames": [null, 1, {"name": 4}]}]', '\u0000'])(
    'survives %j',
    (text) => {
      for (const thread of parseDump(text, 7) ?? []) expect(thread.frames).toEqual([]);
    },
  );

  it('tries without a pause first, then with one', async () => {
    const asked: string[] = [];
    const run: RunCommand = async (_, args) => {
      asked.push(args.join(' '));
      return args.includes('--nonblocking')
        ? { code: 1, stdout: '', stderr: 'Error: Failed to get stack' }
        : { code: 0, stdout: DUMP, stderr: '' };
    };
    const sampler = new StackSampler('py-spy', run);
    await sampler.take([7]);
    expect(asked).toEqual(['dump --json --nonblocking --pid 7', 'dump --json --pid 7']);
    expect(sampler.samples).toHaveLength(1);
    expect(sampler.problem).toBeNull();
  });

  it.each([
    [
      'Permission Denied: Try running again with elevated permissions',
      /may not look into process 7\. Run with sudo/,
    ],
    ['Error: No such process', /^py-spy could not read process 7: Error: No such process$/],
  ])('says what it lacks: %s', async (stderr, reason) => {
    const sampler = new StackSampler('py-spy', async () => ({ code: 1, stdout: '', stderr }));
    await sampler.take([7]);
    expect(sampler.problem).toMatch(reason);
  });

  it('py-spy is not found where neither PATH nor the Python of the job has it', () => {
    expect(
      findPySpy(fakeFiles({ '/proc/7/cmdline': 'python\0x.py\0' }), [7], { PATH: '/no/such' }),
    ).toBeNull();
  });

  it('py-spy next to the Python of the job is found in a folder with a space and an accent', () =>
    inFolder(async (folder) => {
      const bin = join(folder, 'my projects é/.venv/bin');
      await mkdir(bin, { recursive: true });
      await writeFile(join(bin, 'py-spy'), '');
      await mkdir(join(folder, 'proc/7'), { recursive: true });
      await writeFile(join(folder, 'proc/7/cmdline'), `${bin}/python\0train.py\0`);
      expect(findPySpy(filesBelow(folder), [7], { PATH: '/no/such' })).toBe(join(bin, 'py-spy'));
    }));
});
