import { execFileSync } from 'node:child_process';
import { symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { readSmallFile } from './small-file.js';

describe('a small file of a capture', () => {
  it.each(['', '{"a": "ä"}'])('is read whole (%j)', (text) =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'a'), text);
      expect(await readSmallFile(join(folder, 'a'))).toBe(text);
    }),
  );

  it('is not read when it is a pipe, a link, a device, a folder, too large or not there', () =>
    inFolder(async (folder) => {
      const at = (name: string) => join(folder, name);
      execFileSync('mkfifo', [at('pipe')]);
      await symlink('/dev/zero', at('zero'));
      await writeFile(at('file'), 'x');
      await symlink(at('file'), at('link'));
      await writeFile(at('large'), '');
      await truncate(at('large'), 300_000_000);
      const paths = [...['pipe', 'zero', 'link', 'large', 'nothing', '.'].map(at), '/dev/zero'];
      expect(await Promise.all(paths.map(readSmallFile))).toEqual(paths.map(() => null));
    }));
});
