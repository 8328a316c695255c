import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Folder, temporaryFolder } from '../../test/helpers/members.js';
import { InputError } from '../base/input-error.js';
import { discoverFiles, naturalOrder } from './discover.js';

let folder: Folder;
let root: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  root = folder.path;
  const names = [
    'run/step_10/rank10.json',
    'run/step_10/rank2.json',
    'run/step_9/rank1.json',
    'run/empty.json',
    'run/.git/config',
    'run/node_modules/m/a.json',
    'run/__pycache__/a.json',
    'run/.whyslow/launch',
    'run/step_9/.rank1.json.partial-host-17-x0123456789abcdef.json',
    'odd/[a]*.json',
    'odd/b.json',
  ];
  for (const name of names) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), name.includes('empty') ? '' : '{}');
  }
  await mkdir(join(root, 'nothing'));
  await symlink('..', join(root, 'run/step_9/up'));
  await symlink('step_10', join(root, 'run/latest'));
  await symlink('step_9/rank1.json', join(root, 'run/a-link.json'));
  await symlink('gone', join(root, 'run/broken'));
});
afterAll(() => folder.remove());

const at = (...names: string[]) => names.map((name) => join(root, name));
const RUN = ['run/empty.json', 'run/step_9/rank1.json', 'run/step_10/rank2.json', 'run/step_10/rank10.json'];

describe('discoverFiles', () => {
  it('walks a directory in natural order, each file once and under its own name', async () => {
    const { files, problems } = await discoverFiles(at('run'));
    expect(files.map((file) => file.path)).toEqual(at(...RUN));
    expect(files.every((file) => !file.explicit)).toBe(true);
    expect(files.map((file) => file.size)).toEqual([0, 2, 2, 2]);
    expect(problems.map(({ code, count }) => [code, count])).toEqual([['unreadable-path', 1]]);
    expect(problems[0]!.message).toMatch(/broken cannot be read: no such file/);
  });

  it('takes files as named, in the order given', async () => {
    const paths = at('run/step_10/rank10.json', 'run/empty.json');
    const { files, problems } = await discoverFiles([...paths, '-']);
    expect(files).toEqual([
      { path: paths[0], explicit: true, size: 2 },
      { path: paths[1], explicit: true, size: 0 },
      { path: '-', explicit: true, size: 0 },
    ]);
    expect(problems).toEqual([]);
  });

  it('a file that is named twice is read once, with a note', async () => {
    const [file = '', link = '', directory = ''] = at(
      'run/step_9/rank1.json',
      'run/a-link.json',
      'run/step_9',
    );
    const twice = await discoverFiles([file, link]);
    expect(twice.files).toEqual([{ path: file, explicit: true, size: 2 }]);
    expect(twice.problems.map((p) => p.code)).toEqual(['same-file-twice']);
    const walked = await discoverFiles([directory, file]);
    expect(walked.files.find((found) => found.path === file)?.explicit).toBe(true);
    expect(walked.problems.map((p) => p.code)).toContain('same-file-twice');
    const twoWays = await discoverFiles([file, directory]);
    expect(twoWays.problems.map((p) => p.code)).not.toContain('same-file-twice');
  });

  it('expands patterns, to files and directories', async () => {
    const files = await discoverFiles(at('run/step_*/rank*.json'));
    expect(files.files.map((file) => file.path)).toEqual(at(...RUN.slice(1)));
    expect(files.files.every((file) => file.explicit)).toBe(true);
    const directories = await discoverFiles(at('run/step_1?'));
    expect(directories.files.map((file) => [file.path, file.explicit])).toEqual(
      at(...RUN.slice(2)).map((path) => [path, false]),
    );
  });

  it('keeps relative patterns relative', async () => {
    const { files } = await discoverFiles(['src/sources/discover.t*.ts']);
    expect(files.map((file) => file.path)).toEqual(['src/sources/discover.test.ts']);
  });

  it('prefers a file whose name looks like the pattern', async () => {
    const [name = ''] = at('odd/[a]*.json');
    expect((await discoverFiles([name])).files.map((file) => file.path)).toEqual([name]);
  });

  it('names the paths when there are no files', async () => {
    const failures = [
      [at('none.json'), /none\.json: no such file/],
      [['hdfs://host/rank0.json'], /only s3:\/\/, gs:/],
      [at('run/*.txt'), /no file matches .*run\/\*\.txt/],
      [at('nothing'), /no files found in .*nothing/],
      [[], /no files/],
    ] as const;
    for (const [paths, message] of failures) {
      await expect(discoverFiles(paths)).rejects.toThrow(InputError);
      await expect(discoverFiles(paths)).rejects.toThrow(message);
    }
  });

  it('takes a pipe only by its own name', async () => {
    await mkdir(join(root, 'pipes'));
    await writeFile(join(root, 'pipes/a.json'), '{}');
    execFileSync('mkfifo', [join(root, 'pipes/b.json')]);
    const namesIn = async (path: string) =>
      (await discoverFiles(at(path))).files.map((f) => basename(f.path));
    expect(await namesIn('pipes')).toEqual(['a.json']);
    expect(await namesIn('pipes/*.json')).toEqual(['a.json']);
    expect(await namesIn('pipes/b.json')).toEqual(['b.json']);
  });

  it('an empty directory among others is mentioned', async () => {
    const { problems } = await discoverFiles(at('nothing', 'odd'));
    expect(problems.map((p) => p.code)).toEqual(['empty-directory']);
  });

  it('goes on past a directory it may not read', async () => {
    await mkdir(join(root, 'mixed/locked'), { recursive: true });
    await writeFile(join(root, 'mixed/a.json'), '{}');
    await chmod(root, 0o755);
    await chmod(join(root, 'mixed/locked'), 0);
    // Root may read everything, so look as user `nobody`.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    const { files, problems } = await discoverFiles(at('mixed')).finally(() => {
      if (isRoot) process.seteuid?.(0);
    });
    await chmod(join(root, 'mixed/locked'), 0o700);
    expect(files).toHaveLength(1);
    expect(problems.map((p) => p.code)).toEqual(['unreadable-path']);
  });

  it('says so when there is nothing else', async () => {
    await mkdir(join(root, 'locked'));
    await chmod(root, 0o755);
    await chmod(join(root, 'locked'), 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    const looked = discoverFiles(at('locked')).finally(() => {
      if (isRoot) process.seteuid?.(0);
    });
    await expect(looked).rejects.toThrow(/no files found in .*: .*locked cannot be read: permission denied$/);
    await chmod(join(root, 'locked'), 0o700);
  });
});

describe('naturalOrder', () => {
  it('orders numbers by value', () => {
    const sorted = ['a/1', 'a/2', 'a/10', 'a-b/1', 'rank2', 'rank10', 'rank010x'];
    expect([...sorted].reverse().sort(naturalOrder)).toEqual([...sorted].sort(naturalOrder));
    expect(['rank10', 'rank2', 'rank1'].sort(naturalOrder)).toEqual(['rank1', 'rank2', 'rank10']);
    expect(['x/rank10/a', 'x/rank2/b'].sort(naturalOrder)).toEqual(['x/rank2/b', 'x/rank10/a']);
    expect(naturalOrder('a01', 'a1')).not.toBe(0);
  });
});
