import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder, start, whyslow } from '../helpers/cli.js';
import { DMON_ROWS, fakeNvidiaSmi, install, withPath } from '../helpers/fake-nvidia-smi.js';

interface Line {
  readonly id: string;
  readonly status: string;
  readonly value: string;
  readonly advice: string | null;
}

const doctor = async (args: readonly string[], env: Record<string, string> = {}) => {
  const ran = await whyslow(['doctor', '--python', '/no/such/python', '--json', ...args], { env });
  const report = JSON.parse(ran.stdout || 'null') as { schema: string; checks: Line[] } | null;
  return { ...ran, report, of: (id: string) => report!.checks.find((c) => c.id === id)! };
};

describe('whyslow doctor', () => {
  it('checks GPUs, disks and the environment', () =>
    inFolder(async (folder) => {
      await fakeNvidiaSmi(folder, 1, DMON_ROWS.starving);
      const data = join(folder, 'data');
      await mkdir(join(data, 'a'), { recursive: true });
      for (let i = 0; i < 30; i++) await writeFile(join(data, 'a', `${i}.bin`), 'x'.repeat(1000));
      const env = {
        ...withPath(folder),
        NCCL_P2P_DISABLE: '1',
        CUDA_LAUNCH_BLOCKING: '1',
        OMP_NUM_THREADS: '4096',
      };
      const { report, of, code } = await doctor(['--data', data], env);
      expect(code).toBe(0);
      expect(report!.schema).toBe('whyslow/doctor/1');
      expect(of('gpu')).toMatchObject({ status: 'pass', value: 'NVIDIA H200, driver 580.159.04' });
      expect(of('persistence')).toMatchObject({ status: 'warn' });
      expect(of('pcie')).toMatchObject({ status: 'warn', value: 'GPU 0: gen 5 ×8 of gen 5 ×16' });
      expect(of('torch')).toMatchObject({
        status: 'skip',
        value: expect.stringContaining('there is no /no/such/python'),
      });
      expect(of('threads').status).toBe('warn');
      expect(of('nccl').status).toBe('fail');
      expect(of('debug').status).toBe('fail');
      expect(of('data-reads').value).toContain('30 files');
    }));

  it('uses the environment of a process', async () => {
    const { child, ended } = start('sleep', ['60'], { env: { NCCL_DEBUG: 'INFO' } });
    try {
      expect((await doctor(['--pid', `${child.pid}`])).of('nccl').value).toBe('NCCL_DEBUG=INFO');
    } finally {
      child.kill();
      await ended;
    }
  });

  it('prints a page without nvidia-smi, or with a broken one', () =>
    inFolder(async (folder) => {
      await install(folder, 'head -c 3000 /dev/urandom; exit 9');
      const ran = await whyslow(['doctor', '--python', '/no/such/python'], { env: withPath(folder) });
      expect(ran.code).toBe(0);
      expect(ran.stdout).toMatch(/^skip {2}GPUs .*no nvidia-smi that works/m);
      expect(ran.stdout).toMatch(/\d+ to fix, \d+ to look at, \d+ fine, \d+ not checked/);
    }));

  it.each([
    [['--pid', '99999999'], 'there is no process 99999999'],
    [['--data', '/no/such/folder'], 'cannot read /no/such/folder: no such file or directory'],
  ])('%j: one sentence and exit code 2', async (args, message) => {
    const ran = await doctor(args);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
  });
});
