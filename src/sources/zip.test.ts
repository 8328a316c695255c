import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, sampleText, tar, zip, zstdFrame } from '../../test/helpers/archives.js';
import { type Folder, readAll, temporaryFolder } from '../../test/helpers/members.js';
import { InputError } from '../base/input-error.js';
import { Cursor } from './cursor.js';
import { Faults } from './faults.js';
import { zipMembers } from './zip.js';

let folder: Folder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const read = async (data: Uint8Array) => readAll(await folder.write('a.zip', data));
const big = { name: 'big.json', data: sampleText(3 << 20) };
const small = { name: 'small.json', data: bytes('{}') };

describe('a zip', () => {
  it('may hold members with zip64 sizes, stored, deflated and in zstd', async () => {
    const packed = zstdFrame(small.data);
    const archive = zip([
      { ...big, zip64: true },
      { ...big, store: true },
      { name: 'z.json', data: packed, store: true, method: 93 },
    ]);
    const { members, codes } = await read(archive);
    expect(codes).toEqual([]);
    expect(members.map((m) => m.data.length)).toEqual([big.data.length, big.data.length, small.data.length]);
    expect(members[0]!.data.equals(big.data) && members[1]!.data.equals(big.data)).toBe(true);
  });

  it('gives bytes that several members share only once', async () => {
    const first = { name: 'first.json', data: sampleText(3000) };
    const again = Array.from({ length: 100 }, (_, i) => ({ ...first, name: `${i}.json`, sharesFirst: true }));
    const { members, problems } = await read(zip([first, ...again, small]));
    expect(members.map((m) => m.name)).toEqual([first.name, small.name]);
    expect(problems).toMatchObject([{ code: 'overlapping-members', count: 100 }]);
  });

  it('may list its members in any order', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const archive = zip(names.map((name) => ({ name, data: bytes(name.repeat(9)) })));
    const directory = archive.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
    const entry = (archive.length - 22 - directory) / names.length;
    const at = (i: number) => archive.subarray(directory + i * entry, directory + (i + 1) * entry);
    const shuffled = [archive.subarray(0, directory), at(2), at(0), at(3), at(1), archive.subarray(-22)];
    const { members, codes } = await read(Buffer.concat(shuffled));
    expect(members.map((m) => m.name)).toEqual(['c', 'a', 'd', 'b']);
    expect(codes).toEqual([]);
  });

  it('counts the stored bytes of each member', async () => {
    const { members } = await read(zip([big, small]));
    for (const member of members) expect(member.storedBytes).toBe(member.storedSize);
  });

  it('has a problem instead of a member that is encrypted or uses an unknown compression', async () => {
    const archive = zip([
      { ...big, encrypted: true },
      { ...small, method: 14 },
      { ...small, encrypted: true },
      small,
    ]);
    const { members, problems } = await read(archive);
    expect(members.map((m) => m.name)).toEqual([small.name]);
    expect(problems.map(({ code, count }) => [code, count])).toEqual([
      ['encrypted-member', 2],
      ['unsupported-compression', 1],
    ]);
  });

  it('gives all of a member whose checksum is wrong, with a problem', async () => {
    for (const store of [true, false]) {
      const { members, codes } = await read(zip([{ ...big, crc: 1, store }, small]));
      expect(codes).toEqual(['corrupt-zip-member']);
      expect(members[0]!.problems).toHaveLength(1);
      expect(members.map((m) => m.data.length)).toEqual([big.data.length, small.data.length]);
    }
  });

  it('gives the beginning of a damaged member, and the next one complete', async () => {
    const archive = zip([big, small]);
    archive.fill(0xff, 900_000, 900_100);
    const { members, codes } = await read(archive);
    expect(codes).toEqual(['corrupt-zip-member']);
    expect(members[0]!.data.length).toBeGreaterThan(900_000);
    expect(members[0]!.data.subarray(0, 900_000).equals(big.data.subarray(0, 900_000))).toBe(true);
    expect(members[1]!.data.equals(small.data)).toBe(true);
  });

  it('is a problem, not an error, when it is cut short', async () => {
    const whole = zip([small, small]);
    for (let cut = 4; cut < whole.length; cut++) {
      expect((await read(whole.subarray(0, cut))).codes, `cut at ${cut}`).toEqual(['corrupt-zip']);
    }
  });

  it('is held in memory inside another container', async () => {
    const { members, codes } = await read(gzipSync(tar([{ name: 'i.zip', data: zip([big, small]) }])));
    expect(codes).toEqual([]);
    expect(members.map((m) => m.data.length)).toEqual([big.data.length, small.data.length]);
  });

  it('is refused when that would take too much memory', async () => {
    const chunk = new Uint8Array(1 << 20);
    let given = 0;
    async function* endless() {
      for (;;) {
        given += chunk.length;
        yield chunk;
      }
    }
    const layer = { cursor: new Cursor(endless()), extent: null, size: null, stored: () => given };
    const visit = zipMembers(layer, new Faults(), 'stdin').next();
    await expect(visit).rejects.toThrow(InputError);
    await expect(visit).rejects.toThrow(/stdin is a zip of more than 256 MiB/);
    expect(given).toBeLessThan(258 << 20);
  });
});
