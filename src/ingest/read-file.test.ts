import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, tar } from '../../test/helpers/archives.js';
import { type Folder, temporaryFolder } from '../../test/helpers/members.js';
import { readFile } from './read-file.js';
import { readInputs } from './read-run.js';

let folder: Folder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const log = (rank: number) => bytes(`{"name":"forward","step":1,"rank":${rank},"duration_ms":1}\n`);

describe('a bug that one member triggers', () => {
  it('is a problem of that member, and the others are read', async () => {
    const data = tar([0, 1, 2].map((rank) => ({ name: `r${rank}.jsonl`, data: log(rank) })));
    const path = await folder.write('a.tar', data);
    const { members, problems } = await readFile(path, (member) => {
      if (member.path.endsWith('r1.jsonl')) throw new TypeError('boom');
      return member.path.slice(-8);
    });
    expect(members).toEqual(['r0.jsonl', 'r2.jsonl']);
    expect(problems).toEqual([
      {
        code: 'reading-failed',
        count: 1,
        message: `reading ${path}!r1.jsonl failed: boom`,
        consequence: 'it is left out; please report it',
        first: null,
      },
    ]);
  });
});

describe('the reason why a file cannot be used', () => {
  const reasonFor = (path: string) =>
    readInputs(path, 'summary', { jobs: 1 }).then(String, (e: Error) => e.message);

  it('is that it is packed too often, not that it is empty', async () => {
    let data = tar([{ name: 'r0.jsonl', data: log(0) }]);
    for (let i = 0; i < 4; i++) data = tar([{ name: 'inner.tar', data }]);
    expect(await reasonFor(await folder.write('deep.tar', data))).toMatch(/is packed more than 4 times/);
    expect(await reasonFor(await folder.write('none.tar', tar([])))).toMatch(
      /the archive has no files in it|is binary/,
    );
  });
});
