import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pythonPart } from '../../src/launch/environment.js';
import { findUnmeasured } from '../../src/launch/unmeasured.js';
import { inFolder, start, until } from '../helpers/cli.js';
import { describeWithTorch, python } from '../helpers/python.js';

const { startUp } = pythonPart();

describeWithTorch('a process that uses torch and is not measured', () => {
  it.each([
    ['sets PYTHONPATH', [], '.', /^process \d+ is not measured: its launch script sets PYTHONPATH/],
    ['ignores the environment', ['-E'], startUp, /^process \d+ is not measured: Python ran with -E/],
    ['is measured', [], startUp, null],
  ])('%s', (_, flags, path, expected) =>
    inFolder(async (cwd) => {
      await writeFile(
        join(cwd, 'job.py'),
        'import torch, time\nprint("ready", flush=True)\ntime.sleep(60)\n',
      );
      const env = { WHYSLOW_INJECT: '1', PYTHONPATH: path };
      const job = start(python, [...flags, 'job.py'], { cwd, env });
      try {
        await until(() => job.said.stdout.includes('ready'), 'torch');
        const found = await findUnmeasured(process.pid, startUp);
        if (expected === null) expect(found).toBeNull();
        else expect(found).toMatch(expected);
      } finally {
        job.child.kill('SIGKILL');
        await job.ended;
      }
    }),
  );
});
