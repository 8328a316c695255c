import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type * as Library from '../../src/index.js';
import { ANSWERED, type FromInflater } from '../../src/sources/inflate-messages.js';
import { tar } from '../../src/sources/testing/archives.js';
import { cases } from '../helpers/cases.js';
import { root } from '../helpers/cli.js';

/** The bundle, because only there the thread has a file. */
const { inspect, readRun } = (await import(join(root, 'dist/index.js'))) as typeof Library;

const folder = mkdtempSync(join(tmpdir(), 'whyslow-inflate-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Names that do not compress: a thread is used from 6 MB of stored bytes on. */
function trace(megabytes: number): Buffer {
  const names = randomBytes(megabytes * 1e6).toString('base64');
  const events: string[] = [];
  for (let at = 0, i = 0; at < names.length; at += 5000, i++)
    events.push(`{"ph":"X","cat":"cpu_op","name":"${names.slice(at, at + 5000)}","ts":${i * 10},"dur":7}`);
  return Buffer.from(`{"schemaVersion": 1, "traceEvents": [${events.join(',\n')}]}`);
}
const json = trace(6.3);
const whole = gzipSync(json, { level: 1 });
const half = json.length >> 1;
const members = Buffer.concat([json.subarray(0, half), json.subarray(half)].map((part) => gzipSync(part)));
const flipped = (at: number) => {
  const damaged = Buffer.from(whole);
  damaged[at]! ^= 0x10;
  return damaged;
};

const digest = (values: Float64Array | Uint8Array) => createHash('sha1').update(values).digest('hex');

/** What comes out, with the thread and without. */
async function bothWays(data: Uint8Array, name = 'trace.json.gz') {
  const file = join(folder, name);
  writeFileSync(file, data);
  const read = async (jobs: number) => {
    const { traces, problems } = await readRun(file, { jobs });
    const found = traces.map(({ trace, ...read }) => ({
      rows: trace.data.rows,
      times: digest(trace.data.ts),
      names: digest(trace.data.strings.bytes),
      problems: read.problems,
      decodedBytes: read.decodedBytes,
    }));
    return { found, problems };
  };
  // Damage in the first bytes may leave nothing to read, which must be told alike.
  const told = (error: Error) => ({ found: [error.message], problems: [] });
  return [await read(2).catch(told), await read(1).catch(told)] as const;
}

/** Runs the thread by itself: how many bytes it makes, and whether it finds the data complete. */
async function threadAlone(data: Uint8Array) {
  writeFileSync(join(folder, 'alone.gz'), data);
  const { port1: own, port2: port } = new MessageChannel();
  const counters = new Int32Array(new SharedArrayBuffer(8));
  const fd = openSync(join(folder, 'alone.gz'), 'r');
  const workerData = { fd, port, counters };
  const thread = new Worker(join(root, 'dist/inflate-worker.js'), { workerData, transferList: [port] });
  const ended = once(thread, 'exit');
  let made = 0;
  for (;;) {
    const message = receiveMessageOnPort(own)?.message as FromInflater | undefined;
    if (message === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    else if (message.type === 'end') {
      await ended;
      closeSync(fd);
      return { made, isComplete: message.isComplete };
    } else {
      made += message.length;
      own.postMessage(message.memory, [message.memory.buffer]);
      Atomics.add(counters, ANSWERED, 1);
      Atomics.notify(counters, ANSWERED);
    }
  }
}

describe('a large gzip that a thread inflates', () => {
  it('is inflated to its end by the thread, unless something is odd', async () => {
    expect(await threadAlone(whole)).toEqual({ made: json.length, isComplete: true });
    expect(await threadAlone(members)).toEqual({ made: json.length, isComplete: true });
    expect((await threadAlone(whole.subarray(0, 5e6))).isComplete).toBe(false);
    expect((await threadAlone(Buffer.concat([whole, Buffer.alloc(9)]))).isComplete).toBe(false);
  });

  it('starts one thread, and none with one job', async () => {
    let threads = 0;
    const count = () => threads++;
    process.on('worker', count);
    await bothWays(whole);
    process.off('worker', count);
    expect(threads).toBe(availableParallelism() > 1 ? 1 : 0);
  });

  it.each<[what: string, make: () => Uint8Array, name?: string]>([
    ['whole', () => whole],
    ['in two members', () => members],
    ['cut short', () => whole.subarray(0, whole.length - 100_000)],
    ['cut in its trailer', () => whole.subarray(0, whole.length - 3)],
    ['with a wrong checksum', () => flipped(whole.length - 6)],
    ['with a wrong length', () => flipped(whole.length - 2)],
    [
      'with a checksum that is wrong in the first of two members',
      () => {
        const first = Buffer.from(gzipSync(json.subarray(0, half)));
        first[first.length - 7]! ^= 1;
        return Buffer.concat([first, gzipSync(json.subarray(half))]);
      },
    ],
    ['with text after it', () => Buffer.concat([whole, Buffer.from('the end')])],
    ['with zeros after it', () => Buffer.concat([whole, Buffer.alloc(5000)])],
    ['in a gzip', () => gzipSync(whole, { level: 0 })],
    ['in a tar', () => gzipSync(tar([{ name: 'a.json', data: json }, { name: 'b.json', data: json }]), { level: 1 }), 'two.tar.gz'], // biome-ignore format: short
  ])('gives the same as without the thread: %s', async (_, make, name) => {
    const [aside, here] = await bothWays(make(), name);
    expect(aside).toEqual(here);
    expect(aside.found.length).toBeGreaterThan(0);
  });

  it('gives the same wherever a byte is wrong', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: whole.length - 1 }), async (at) => {
        const [aside, here] = await bothWays(flipped(at));
        expect(aside).toEqual(here);
      }),
      { numRuns: cases(2, 40) },
    );
  });

  it('is told as read to its end', async () => {
    writeFileSync(join(folder, 'trace.json.gz'), whole);
    const report = await inspect(join(folder, 'trace.json.gz'));
    expect(JSON.stringify(report)).toContain(String(whole.length));
  });
});
