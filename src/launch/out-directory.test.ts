import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { asTyped, defaultOut, prepareOut, releaseOut, timeLabel } from './out-directory.js';

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
    'another run in the output directory is left alone (%s): a directory next to it is used',
    (runJson) =>
      inFolder(async (folder) => {
        const out = join(folder, 'a');
        await holding(out, runJson);
        const { path, note } = await prepareOut(out, 'r');
        expect(path).toBe(`${out}-r`);
        expect(note).toContain('holds another run');
      }),
  );

  it('one of several runs that start at once gets the output directory; the others use one next to it and say so', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'a');
      const ids = ['r1', 'r2', 'r3', 'r4'];
      const made = await Promise.all(ids.map((id) => prepareOut(out, id)));
      expect(new Set(made.map((m) => m.path)).size).toBe(4);
      expect(made.filter((m) => m.path === out)).toHaveLength(1);
      for (const { path, note } of made)
        expect(note === null ? path : note.endsWith(`measured into ${path}`)).toBe(path === out ? out : true);
    }));

  it('is shared by the nodes of one run that start at once', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'a');
      const made = await Promise.all([1, 2, 3].map(() => prepareOut(out, 'r')));
      expect(made.map((m) => m.path)).toEqual([out, out, out]);
    }));

  it('may exist, but not as the directory of a run that has just started', () =>
    inFolder(async (folder) => {
      expect((await prepareOut(folder, 'r')).path).toBe(folder);
      expect((await prepareOut(folder, 's')).path).toBe(`${folder}-s`);
      await rm(`${folder}-s`, { recursive: true });
    }));

  it('is free again after a run that captured nothing', () =>
    inFolder(async (folder) => {
      const out = join(folder, 'a');
      await releaseOut(await prepareOut(out, 'r'));
      expect(existsSync(out)).toBe(false);
      await mkdir(out);
      await releaseOut(await prepareOut(out, 'r'));
      expect((await prepareOut(out, 's')).path).toBe(out);
    }));

  it('does not wait for a pipe in place of run.json', () =>
    inFolder(async (folder) => {
      execFileSync('mkfifo', [join(folder, 'run.json')]);
      expect((await prepareOut(folder, 'r')).path).toBe(folder);
    }));

  it('is an error before the job starts when it cannot be written', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      await expect(prepareOut(join(folder, 'file/a'), 'r')).rejects.toThrow(/cannot write to .*file\/a: /);
      // It exists, but nothing can be written into it.
      await expect(prepareOut('/proc/self/fdinfo', 'r')).rejects.toThrow(
        /cannot write to .* was not started/,
      );
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
