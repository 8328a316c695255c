import { spawn } from 'node:child_process';
import { mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, sampleText, tar, zip, zstdFrame } from '../../test/helpers/archives.js';
import { type Folder, readAll, temporaryFolder } from '../../test/helpers/members.js';
import { InputError } from '../base/input-error.js';
import { visitMembers } from './open.js';

/** Only Linux shows which files a process has open. */
const isLinux = process.platform === 'linux';

let folder: Folder;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const A = sampleText(70_000);
const B = sampleText(1_300, 2);
const two = [
  { name: 'inner/a.json', data: A },
  { name: 'b.jsonl', data: B },
];

describe('visitMembers', () => {
  const packers = {
    gzip: gzipSync,
    zstd: (data: Buffer) => zstdFrame(data),
    tar: (data: Buffer) => tar([{ name: 'm', data }]),
    zip: (data: Buffer) => zip([{ name: 'm', data }]),
    'stored zip': (data: Buffer) => zip([{ name: 'm', data, store: true }]),
  };
  const names = Object.keys(packers) as (keyof typeof packers)[];
  const chains = [
    [],
    ...names.map((a) => [a]),
    ...names.flatMap((a) => names.map((b) => [a, b])),
    ['gzip', 'tar', 'gzip', 'zip'] as const,
    ['zip', 'tar', 'zstd', 'gzip'] as const,
  ];

  it.each(chains.map((chain) => [chain.join(' of ') || 'nothing', chain] as const))(
    'reads %s',
    async (label, chain) => {
      const packed = chain.reduceRight((data: Buffer, name) => packers[name](data), A);
      const file = await folder.write(`${label}.bin`, packed);
      const { members, codes } = await readAll(file);
      expect(codes).toEqual([]);
      expect(members).toHaveLength(1);
      const member = members[0]!;
      expect(member.data.equals(A)).toBe(true);
      expect(member.encodings).toEqual(chain.map((name) => name.replace('stored ', '')));
      const archives = chain.filter((name) => /tar|zip$/.test(name) && name !== 'gzip');
      expect(member.path).toBe([file, ...archives.map(() => 'm')].join('!'));
      expect(member.decodedBytes).toBe(A.length);
      expect(member.storedBytes).toBeLessThanOrEqual(packed.length);
      expect(member.storedBytes).toBeGreaterThan(packed.length / 3);
    },
  );

  it.each(['tar', 'tar.gz', 'zip'])('visits the members of a %s in order', async (kind) => {
    const packed = { tar: tar(two), 'tar.gz': gzipSync(tar(two)), zip: zip(two) }[kind] as Buffer;
    const file = await folder.write(`two.${kind}`, packed);
    const { members, storedBytes } = await readAll(file);
    expect(members.map((m) => [m.path, m.name])).toEqual([
      [`${file}!inner/a.json`, 'a.json'],
      [`${file}!b.jsonl`, 'b.jsonl'],
    ]);
    expect(members[0]!.data.equals(A) && members[1]!.data.equals(B)).toBe(true);
    expect(storedBytes).toBe(packed.length);
  });

  it('gives the stored size: of the file, of the member where there is one', async () => {
    const gz = gzipSync(A);
    const alone = await readAll(await folder.write('size.json.gz', gz));
    expect(alone.members[0]).toMatchObject({ storedSize: gz.length, storedBytes: gz.length });
    const packed = await readAll(await folder.write('size.tar', tar([{ name: 'a.gz', data: gz }])));
    expect(packed.members[0]!.storedSize).toBe(gz.length);
  });

  it('stops after four layers with a problem', async () => {
    const packed = [1, 2, 3, 4, 5].reduce((data) => gzipSync(data), A);
    const { members, codes } = await readAll(await folder.write('deep', packed));
    expect(members).toEqual([]);
    expect(codes).toEqual(['nested-too-deep']);
  });

  it('has one member without bytes for an empty file', async () => {
    const { members, codes } = await readAll(await folder.write('empty', Buffer.alloc(0)));
    expect(members.map((m) => m.data.length)).toEqual([0]);
    expect(codes).toEqual([]);
  });

  it('treats names as labels', async () => {
    const odd = ['../../etc/passwd', '/etc/passwd', 'a!b'].map((name) => ({ name, data: B }));
    for (const archive of [tar(odd), zip(odd)]) {
      const file = await folder.write('odd', archive);
      const { members, codes } = await readAll(file);
      expect(members.map((m) => m.path)).toEqual(odd.map(({ name }) => `${file}!${name}`));
      expect(codes).toEqual([]);
    }
  });

  it.each(['tar.gz', 'tar', 'zip', 'gz in tar'])('skips what is not read and goes on (%s)', async (kind) => {
    const zipped = two.map(({ name, data }) => ({ name, data: gzipSync(data) }));
    const archives = { 'tar.gz': gzipSync(tar(two)), tar: tar(two), zip: zip(two), 'gz in tar': tar(zipped) };
    const file = await folder.write(`skip.${kind}`, archives[kind as keyof typeof archives]);
    for (const how of ['ignore', 'break'] as const) {
      const lengths: number[] = [];
      const { problems } = await visitMembers(file, async ({ stream }) => {
        let length = 0;
        if (how === 'ignore' && lengths.length === 0) return void lengths.push(-1);
        for await (const chunk of stream.chunks) {
          length += chunk.length;
          if (lengths.length === 0) break;
        }
        lengths.push(length);
      });
      expect(lengths[1]).toBe(B.length);
      expect(problems).toEqual([]);
    }
  });

  it('goes on after a break out of a member that is still being decoded', async () => {
    const data = gzipSync(sampleText(6 << 20), { level: 0 });
    const archive = tar([
      { name: 'big.gz', data },
      { name: 'b.json', data: B },
    ]);
    for (const [name, packed] of [
      ['going.tar', archive],
      ['going.tar.gz', gzipSync(archive, { level: 1 })],
    ] as const) {
      const file = await folder.write(name, packed);
      const seen: string[] = [];
      const { problems } = await visitMembers(file, async (member) => {
        const parts: Uint8Array[] = [];
        for await (const chunk of member.stream.chunks) {
          parts.push(chunk);
          if (member.name === 'big.gz') break;
        }
        if (member.name === 'b.json') expect(Buffer.concat(parts).equals(B)).toBe(true);
        seen.push(member.name);
      });
      expect(seen).toEqual(['big.gz', 'b.json']);
      expect(problems).toEqual([]);
    }
  });

  it('puts a problem where it belongs: with the member, or between members with the file', async () => {
    const archive = tar(two);
    const endOfA = 512 + Math.ceil(A.length / 512) * 512;
    const inB = await readAll(await folder.write('cut.tar', archive.subarray(0, endOfA + 512 + 100)));
    expect(inB.members.map((m) => m.problems.map((p) => p.code))).toEqual([[], ['truncated-tar']]);
    expect(inB.problems).toEqual([]);
    const between = await readAll(await folder.write('cut.tar', archive.subarray(0, endOfA)));
    expect(between.members.map((m) => m.problems.map((p) => p.code))).toEqual([[]]);
    expect(between.problems.map((p) => p.code)).toEqual(['truncated-tar']);
  });

  it.skipIf(!isLinux)('releases everything on an early break, on an error and at the end', async () => {
    const file = await folder.write('handles.tar.gz', gzipSync(tar(two)));
    await visitMembers(file, async ({ stream }) => {
      expect(await openFiles()).toEqual([file]);
      for await (const _ of stream.chunks) break;
    });
    expect(await openFiles()).toEqual([]);
    await expect(
      visitMembers(file, async ({ stream }) => {
        for await (const _ of stream.chunks) throw new Error('enough');
      }),
    ).rejects.toThrow('enough');
    expect(await openFiles()).toEqual([]);
    await readAll(file);
    expect(await openFiles()).toEqual([]);
  });

  it('refuses a second iteration of the same stream', async () => {
    const file = await folder.write('once.json', B);
    await visitMembers(file, async ({ stream }) => {
      for await (const _ of stream.chunks);
      expect(() => stream.chunks[Symbol.asyncIterator]()).toThrow(/only once/);
    });
  });

  it('says what cannot be read, and why', async () => {
    const none = async () => {};
    const missing = visitMembers(`${folder.path}/none.json`, none);
    await expect(missing).rejects.toThrow(InputError);
    await expect(missing).rejects.toThrow(/none\.json: no such file/);
    await mkdir(`${folder.path}/dir`);
    await expect(visitMembers(`${folder.path}/dir`, none)).rejects.toThrow(/dir: it is a directory/);
    await symlink('nowhere', `${folder.path}/dangling`);
    await expect(visitMembers(`${folder.path}/dangling`, none)).rejects.toThrow(InputError);
  });
});

describe('standard input', () => {
  it.each([
    ['gzip', gzipSync(A), [A]],
    ['tar.gz', gzipSync(tar(two)), [A, B]],
    ['zip', zip(two), [A, B]],
    ['text', A, [A]],
    ['nothing', Buffer.alloc(0), [Buffer.alloc(0)]],
  ])('is read as any file: %s', async (_, input, expected) => {
    const { out, code } = await readInChild(input);
    expect(JSON.parse(out)).toEqual(expected.map((data) => ({ size: data.length, sum: sum(data) })));
    expect(code).toBe(0);
  });

  it('is released while the other side keeps it open', async () => {
    const { out, code } = await readInChild(gzipSync(A), { breakEarly: true, keepOpen: true });
    expect(JSON.parse(out)).toHaveLength(1);
    expect(code).toBe(0);
  });
});

describe('a named pipe', () => {
  it('is read once through', async () => {
    const fifo = `${folder.path}/fifo`;
    await run('mkfifo', [fifo]);
    const writer = run('sh', ['-c', `cat "${await folder.write('for-fifo.gz', gzipSync(A))}" > "${fifo}"`]);
    const { members, codes } = await readAll(fifo);
    await writer;
    expect(members[0]!.data.equals(A)).toBe(true);
    expect(codes).toEqual([]);
  });
});

describe('an archive with endless file names', () => {
  it('keeps their first few thousand characters', async () => {
    const long = { name: 'L', data: bytes('n'.repeat(500_000)), type: 'L' };
    const entries = Array.from({ length: 5 }, () => [long, { name: 'a', data: A }]).flat();
    const { members, codes } = await readAll(await folder.write('names.tar', tar(entries)));
    expect(members.map((m) => m.name.length)).toEqual([4096, 4096, 4096, 4096, 4096]);
    expect(members.every((m) => m.data.equals(A))).toBe(true);
    expect(new Set(codes)).toEqual(new Set(['long-name']));
  });
});

describe('what is no recording', () => {
  it.runIf(isLinux)('is refused with its reason', async () => {
    for (const device of ['/dev/zero', '/dev/null', '/dev/random'])
      await expect(readAll(device)).rejects.toThrow(`cannot read ${device}: it is a device, not a file`);
    // A regular file by its looks, which waits for the next message of the kernel. Not everyone may open it.
    await expect(readAll('/proc/kmsg')).rejects.toThrow(/never ends|permission denied|no such file/);
  });
});

/** Files of the test folder that this process has open; it has others that come and go. */
async function openFiles(): Promise<string[]> {
  const handles = await readdir('/proc/self/fd');
  const targets = await Promise.all(handles.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.filter((path) => path.startsWith(folder.path));
}

function sum(data: Uint8Array): number {
  return data.reduce((total, byte) => (total * 31 + byte) % 1_000_003, 0);
}

async function readInChild(input: Buffer, { breakEarly = false, keepOpen = false } = {}) {
  const script = `
    import { visitMembers } from ${JSON.stringify(fileURLToPath(new URL('./open.ts', import.meta.url)))};
    const found = [];
    await visitMembers('-', async ({ stream }) => {
      let size = 0, sum = 0;
      for await (const chunk of stream.chunks) {
        size += chunk.length;
        for (const byte of chunk) sum = (sum * 31 + byte) % 1_000_003;
        if (${breakEarly}) break;
      }
      found.push({ size, sum });
    });
    console.log(JSON.stringify(found));`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
  let out = '';
  let errors = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    errors += data;
  });
  child.stdin.on('error', () => {}); // it may be closed before everything is written
  child.stdin.write(input);
  if (!keepOpen) child.stdin.end();
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(errors);
  return { out, code };
}

function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    spawn(command, args).on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${command}: ${code}`)),
    );
  });
}
