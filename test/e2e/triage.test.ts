import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { inFolder, root, type Started, start, whyslow } from '../helpers/cli.js';
import { install, withPath } from '../helpers/fake-nvidia-smi.js';

const started: Started[] = [];
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

describe('whyslow triage with bad input', () => {
  it.each([
    [['--pid', '99999999'], 'there is no process 99999999'],
    [['--pid', 'x'], 'whole number'],
    [['--seconds', '0'], 'whole number'],
    [['--replay', '/no/such/file'], 'no such file'],
    [['--replay', join(root, 'package.json')], 'not a recording'],
  ])('%j: one sentence and exit code 2', async (args, message) => {
    const ran = await whyslow(['triage', ...args]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toMatch(/\bat .*\.js/);
  });

  it('a process that does not train: exit code 3, also where nvidia-smi fails', () =>
    inFolder(async (folder) => {
      await install(
        folder,
        'echo "NVIDIA-SMI has failed because it could not communicate with the driver"; exit 9',
      );
      const sleeper = start('sleep', ['60']);
      started.push(sleeper);
      const args = ['triage', '--pid', `${sleeper.child.pid}`, '--seconds', '1'];
      const ran = await whyslow(args, { env: withPath(folder) });
      expect(ran.code).toBe(3);
      expect(ran.stdout).toContain('Not training');
    }));

  it('a file that cannot be written: the verdict, the reason and exit code 2', async () => {
    const sleeper = start('sleep', ['60']);
    started.push(sleeper);
    const ran = await whyslow([
      'triage',
      '--pid',
      `${sleeper.child.pid}`,
      '--seconds',
      '1',
      '--out',
      '/no/such/folder/x',
    ]);
    expect(ran.stdout).toContain('Not training');
    expect(ran.stderr).toContain('cannot write /no/such/folder/x: no such file or directory');
    expect(ran.code).toBe(2);
  });
});
