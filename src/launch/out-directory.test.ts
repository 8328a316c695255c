import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { asTyped, defaultOut, prepareOut, timeLabel } from './out-directory.js';

async function holding(out: string, runJson: string): Promise<void> {
  await mkdir(out);
  await writeFile(join(out, 'run.json'), runJson);
}

describe('the directory of a run', () => {
  it('is made, with its parents', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'a/b');
      expect(await prepareOut(out, 'r')).toEqual({ path: out, isNew: true, note: null });
      expect(existsSync(out)).toBe(true);
    }));

  it.each(['r', 'r.1'])('is shared by the same run (%s): other nodes, a restart', (id) =>
    inFolder(async (folder) => {
      const out = join(folder, 'a');
      await holding(out, JSON.stringify({ run: id }));
      expect(await prepareOut(out, 'r')).toEqual({ path: out, isNew: false, note: null });
    }),
  );

  it.each(['{"run":"old"}', '{"ru'])(
    'leaves another run alone (%s) and uses a directory beside it',
    (runJson) =>
      inFolder(async (folder) => {
        const out = join(folder, 'a');
        await holding(out, runJson);
        const { path, note } = await prepareOut(out, 'r');
        expect(path).toBe(`${out}-r`);
        expect(note).toContain('holds another run');
      }),
  );

  it('lets the job run when it cannot be made', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      const { note } = await prepareOut(join(folder, 'file/a'), 'r');
      expect(note).toMatch(/cannot make .*: .*runs without being measured/);
    }));
});

describe('its name', () => {
  it.each([
    [['torchrun', '--nproc-per-node', '8', 'src/train.py', '--data', 'x.py'], 'train'],
    [['python', '-m', 'pkg.train', '--lr', '1'], 'pkg.train'],
    [['python', '-m', 'torch.distributed.run', 'job.py'], 'job'],
    [['./go.sh'], 'go'],
    [['/usr/bin/true'], 'true'],
  ])('of %j ends in %s', (command, name) => {
    expect(defaultOut(command, 'L')).toBe(join('whyslow-runs', `L-${name}`));
  });

  it('is shown as the user would type it', () => {
    expect([asTyped(join(process.cwd(), 'a/b')), asTyped(process.cwd()), asTyped('/elsewhere/a')]).toEqual([
      'a/b',
      '.',
      '/elsewhere/a',
    ]);
  });

  it('sorts by time', () => {
    expect(timeLabel(new Date(2026, 0, 2, 3, 4, 5))).toBe('20260102-030405');
  });
});
