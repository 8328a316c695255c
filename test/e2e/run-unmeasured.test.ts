import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pythonPart } from '../../src/launch/environment.js';
import { findUnmeasured } from '../../src/launch/unmeasured.js';
import { inFolder, start, until } from '../helpers/cli.js';
import { describeWithTorch, python } from '../helpers/python.js';

const { startUp } = pythonPart();
/** Looks as if torch were loaded, in a tenth of the time. */
const MAPPED = `import mmap
library = open('site/torch/lib/libtorch_cpu.so', 'rb')
torch = mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ)`;

describeWithTorch('a process that uses torch and is not measured', () => {
  it.each([
    [
      'sets PYTHONPATH',
      [],
      '.',
      'import torch',
      /^process \d+ is not measured: its launch script sets PYTHONPATH/,
    ],
    ['ignores the environment', ['-E'], startUp, MAPPED, /^process \d+ is not measured: Python ran with -E/],
    ['is measured', [], startUp, MAPPED, null],
  ])('%s', (_, flags, path, loading, expected) =>
    inFolder(async (cwd) => {
      await mkdir(join(cwd, 'site/torch/lib'), { recursive: true });
      await writeFile(join(cwd, 'site/torch/lib/libtorch_cpu.so'), 'a library');
      await writeFile(
        join(cwd, 'job.py'),
        `${loading}\nimport time\nprint("ready", flush=True)\ntime.sleep(60)\n`,
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
