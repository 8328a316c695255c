import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type * as Library from '../../src/index.js';
import { tar } from '../../src/sources/testing/archives.js';
import { bgzip, indexedGzip } from '../../src/sources/testing/blocks.js';
import { root } from '../helpers/cli.js';
import { describeWithTorch, python } from '../helpers/python.js';

/** The bundle, because only there the threads have a file. */
const { diagnose, readRun } = (await import(join(root, 'dist/index.js'))) as typeof Library;

const folder = mkdtempSync(join(tmpdir(), 'whyslow-blocks-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A real trace, and its events again, as often as it takes for 17 MB: three threads are worth 16. */
const json = (() => {
  const text = gunzipSync(readFileSync(join(root, 'zoo/fixtures/data_io_w0/rank0.json.gz'))).toString(
    'latin1',
  );
  const open = text.indexOf('[', text.indexOf('"traceEvents"')) + 1;
  const close = text.lastIndexOf(']');
  const events = text.slice(open, close);
  const copies = Math.ceil(17e6 / events.length);
  return Buffer.from(
    `${text.slice(0, open)}${Array(copies).fill(events).join(',')}${text.slice(close)}`,
    'latin1',
  );
})();
/** Not compressed, so that little JSON makes a large file. */
const LEVEL = 0;
const BLOCK = 1 << 20;
const indexed = indexedGzip(json, BLOCK, LEVEL);

const changed = (data: Uint8Array, change: (copy: Buffer) => void): Buffer => {
  const copy = Buffer.from(data);
  change(copy);
  return copy;
};

const flip = (copy: Buffer, at: number) => copy.writeUInt8(copy[at]! ^ 1, at);
/** Where the index has its first block. */
const FIRST_ENTRY = 32;
const brokenOnce = () => changed(json, (copy) => copy.write('{"ph": "X", "cat": ', 12_345_678));
const brokenEverywhere = () =>
  Buffer.from(json.toString('latin1').replaceAll('"aten::to"', '"aten"to"'), 'latin1');

/** A digest of the whole model, with everything that is told about it. */
async function read(file: string, jobs: number) {
  let threads = 0;
  const count = () => threads++;
  process.on('worker', count);
  const { traces, problems } = await readRun(file, { jobs });
  process.off('worker', count);
  const hash = createHash('sha1');
  const found = traces.map(({ trace, ...rest }) => {
    for (const [name, column] of flat(trace.data)) hash.update(name).update(column);
    return { rows: trace.data.rows, kinds: trace.data.kinds, header: trace.data.header, ...rest };
  });
  return { threads, told: { found, problems, model: hash.digest('hex') } };
}

function flat(value: object, path = ''): [string, Uint8Array][] {
  return Object.entries(value).flatMap(([key, inner]): [string, Uint8Array][] => {
    if (ArrayBuffer.isView(inner))
      return [[path + key, new Uint8Array(inner.buffer, inner.byteOffset, inner.byteLength)]];
    return typeof inner === 'object' && inner !== null ? flat(inner, `${path}${key}.`) : [];
  });
}

/** Three block threads, or one that inflates when they gave up. */
const JOBS = 3;
const mayRun = availableParallelism() > 1;

describe('a large gzip in blocks that threads read', () => {
  it.each<[what: string, pack: () => Uint8Array]>([
    ['with our index', () => indexed],
    ['of bgzip', () => bgzip(json, 65280, LEVEL)],
    ['with a broken event in one block', () => indexedGzip(brokenOnce(), BLOCK, LEVEL)],
  ])('gives the same as in one thread: %s', async (_, pack) => {
    const file = join(folder, 'trace.json.gz');
    writeFileSync(file, pack());
    const [inBlocks, here] = [await read(file, JOBS), await read(file, 1)];
    expect(inBlocks.told).toEqual(here.told);
    expect(inBlocks.told.found[0]!.rows).toBeGreaterThan(30_000);
    expect([inBlocks.threads, here.threads]).toEqual([mayRun ? JOBS : 0, 0]);
  });

  it.each<[what: string, pack: () => Uint8Array]>([
    ['cut short', () => indexed.subarray(0, indexed.length - 3_000_000)],
    ['with a wrong byte in a block', () => changed(indexed, (copy) => flip(copy, 10_000_001))],
    ['with a wrong checksum', () => changed(indexed, (copy) => flip(copy, copy.length - 6))],
    [
      'with an index that lies about where a block ends',
      () =>
        changed(indexed, (copy) => {
          copy.writeUInt32LE(copy.readUInt32LE(FIRST_ENTRY) + 5, FIRST_ENTRY);
          copy.writeUInt32LE(copy.readUInt32LE(FIRST_ENTRY + 8) - 5, FIRST_ENTRY + 8);
        }),
    ],
    ['with text after it', () => Buffer.concat([indexed, Buffer.from('the end')])],
    ['in a tar', () => indexedGzip(tar([{ name: 'a.json', data: json }]), BLOCK, LEVEL)],
    ['in a gzip', () => indexedGzip(gzipSync(json, { level: 0 }), BLOCK, LEVEL)],
    ['with broken events everywhere', () => indexedGzip(brokenEverywhere(), BLOCK, LEVEL)],
  ])('gives the same as in one thread, which then reads it: %s', async (_, pack) => {
    const file = join(folder, 'trace.json.gz');
    writeFileSync(file, pack());
    const [aside, here] = [await read(file, JOBS), await read(file, 1)];
    expect(aside.told).toEqual(here.told);
    expect(aside.told.found.length).toBe(1);
  });

  it('gives the same report', async () => {
    const file = join(folder, 'trace.json.gz');
    writeFileSync(file, indexed);
    const [inBlocks, here] = [await diagnose(file, { jobs: JOBS }), await diagnose(file, { jobs: 1 })];
    expect(JSON.stringify(inBlocks)).toBe(JSON.stringify(here));
  });
});

describeWithTorch('a trace as our capture writes it', () => {
  const [raw, file] = [join(folder, 'raw.json'), join(folder, 'captured.json.gz')];
  const script = `
import sys
from pathlib import Path
from whyslow_capture.trace import compress
compress.LEVEL = ${LEVEL}
compress.compress(Path(sys.argv[1]), Path(sys.argv[2]), None)`;

  it('is read by threads, and by everybody else', async () => {
    writeFileSync(raw, json);
    const env = { ...process.env, PYTHONPATH: join(root, 'python/src') };
    execFileSync(python, ['-c', script, raw, file], { env });
    const [inBlocks, here] = [await read(file, JOBS), await read(file, 1)];
    expect(inBlocks.told).toEqual(here.told);
    expect(inBlocks.threads).toBe(mayRun ? JOBS : 0);
    const packed = readFileSync(file);
    expect(gunzipSync(packed).equals(json)).toBe(true);
    // The way browsers do it, in Node.
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(json)).toBe(true);
  });
});
