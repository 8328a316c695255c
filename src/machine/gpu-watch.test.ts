import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../test/helpers/cli.js';
import { inFolder } from '../../test/helpers/folder.js';
import type { RunCommand } from './files.js';
import { type GpuWatch, watchGpus } from './gpu-watch.js';

const nothing: RunCommand = async () => null;

/** Watches with a program of ours on an otherwise empty PATH, until it has printed what is expected. */
const watching = (
  name: string,
  script: string,
  isReady: (watch: GpuWatch) => boolean,
  run: RunCommand = nothing,
) =>
  inFolder(async (folder) => {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
    const watch = await watchGpus(run, { PATH: folder });
    await until(() => isReady(watch), 'what it prints');
    await watch.stop();
    return { text: watch.text(), problem: watch.problem() };
  });
const said = (words: string) => (watch: GpuWatch) => watch.text()?.includes(words) ?? false;

// Together: they wait for programs.
describe.concurrent('watching GPUs', () => {
  it('falls back to a query where dmon is refused', async () => {
    const { text } = await watching(
      'nvidia-smi',
      `case "$1" in dmon) echo "dmon is not supported"; exit 2 ;; esac
       echo "timestamp, index, name, utilization.gpu [%]"; echo "2026/11/15 00:55:37.060, 0, NVIDIA H200, 40%"`,
      said('40%'),
    );
    expect(text).toContain('0, NVIDIA H200, 40%');
  });

  it('puts the limits of the GPUs before what dmon prints', async () => {
    const limits: RunCommand = async () => ({
      code: 0,
      stdout: 'index, power.limit [W]\n0, 700 W\n',
      stderr: '',
    });
    const { text, problem } = await watching(
      'nvidia-smi',
      'echo "# gpu sm"; echo "# Idx %"; echo "0 5"',
      said('0 5\n'),
      limits,
    );
    expect(text).toBe('index, power.limit [W]\n0, 700 W\n# gpu sm\n# Idx %\n0 5\n');
    expect(problem).toBeNull();
  });

  it.each([
    [
      'an error',
      'echo "Failed to initialize NVML: \\033[31mDriver mismatch"; exit 9',
      /^nvidia-smi does not work: Failed to initialize NVML: .*Driver mismatch$/,
    ],
    ['binary', 'printf "\\000\\001\\377 #gpu\\n"', /^nvidia-smi does not work/],
    ['nothing', 'exit 0', /^nvidia-smi printed nothing$/],
  ])('says why there is nothing: %s', async (_, script, reason) => {
    const { text, problem } = await watching('nvidia-smi', script, (watch) =>
      reason.test(watch.problem() ?? ''),
    );
    expect(text).toBeNull();
    expect(problem).toMatch(reason);
  });

  it('asks rocm-smi again and again', async () => {
    const stdout = 'WARNING: low power\n{"card0": {"GPU use (%)": "97"}}\n';
    const { text } = await watching('rocm-smi', '', said('97'), async () => ({
      code: 0,
      stdout,
      stderr: '',
    }));
    expect(text!.split('\n')[0]).toBe('{"card0": {"GPU use (%)": "97"}}');
  });

  it.each(['', 'null', '[]', '{}', 'ERROR', '\u0000'])(
    'says that rocm-smi printed nothing that can be read: %j',
    async (printed) => {
      const reason = 'rocm-smi --json printed nothing that can be read';
      const isBroken = (watch: GpuWatch) => watch.problem() === reason;
      const { text } = await watching('rocm-smi', '', isBroken, async () => ({
        code: 1,
        stdout: printed,
        stderr: '',
      }));
      expect(text).toBeNull();
    },
  );

  it('says that there is neither', async () => {
    expect((await watchGpus(nothing, { PATH: '' })).problem()).toBe(
      'there is no nvidia-smi or rocm-smi on PATH',
    );
  });
});
