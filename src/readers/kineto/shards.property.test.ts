import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases, SOAK } from '../../../test/helpers/cases.js';
import { tortureDocument } from '../../../test/helpers/torture.js';
import type { ReadResult } from '../common/reader.js';
import { createJoiningReader, kinetoReader } from './descriptor.js';
import { ShardScanner } from './shard-scanner.js';

const FIXTURES = new URL('../../../zoo/fixtures/', import.meta.url);
const SOME = ['fat_trace', 'graph_captured', 'recompile_ragged'];
const ALL = readdirSync(FIXTURES).filter((name) => !name.includes('.'));

interface Joined {
  /** Null: some shard did not fit. */
  readonly result: ReadResult | null;
  readonly joined: number;
}

/** Reads the parts between the cuts with several scanners, as threads do. `renewed`: parts after which a scanner is replaced. */
function readInShards(
  bytes: Uint8Array,
  cuts: readonly number[],
  scanners: number,
  renewed: readonly number[] = [],
): Joined {
  const reader = createJoiningReader({})!;
  const shardScanners = Array.from({ length: scanners }, () => ShardScanner.create()!);
  const edges = [0, ...cuts, bytes.length];
  let joined = 0;
  for (let i = 0; i + 1 < edges.length; i++) {
    const part = bytes.subarray(edges[i], edges[i + 1]);
    const by = i % scanners;
    const shard = i === 0 ? null : shardScanners[by]!.scan(inPieces(part));
    if (shard === null || renewed.includes(i)) shardScanners[by] = ShardScanner.create()!;
    if (shard === null) reader.push(part);
    else if (!reader.join(structuredClone(shard), by)) return { result: null, joined };
    else joined++;
  }
  return { result: reader.finish(), joined };
}

function inPieces(bytes: Uint8Array): (into: Uint8Array) => number {
  let at = 0;
  return (into) => {
    const piece = bytes.subarray(at, at + into.length);
    into.set(piece);
    at += piece.length;
    return piece.length;
  };
}

function readInOrder(bytes: Uint8Array): ReadResult {
  const reader = kinetoReader.create({});
  reader.push(bytes);
  return reader.finish();
}

const EVENTS = [
  (i: number) =>
    `{"ph": "X", "cat": "cpu_op", "name": "aten::add_${i % 23}", "pid": 402, "tid": ${400 + (i % 3)},\n "ts": ${38471 + i}.069, "dur": 3.5, "args": {"External id": ${i}, "Input Dims": [[${i % 7}, 512]]}}`,
  (i: number) =>
    `{"ph": "s", "id": ${i}, "pid": 402, "tid": ${400 + ((i - 1) % 3)}, "ts": ${38470 + i}.069, "cat": "fwdbwd", "name": "fwdbwd"}`,
  (i: number) =>
    `{"ph": "X", "cat": "kernel", "name": "void k<{lambda(float)#${i % 5}}>(int)", "pid": 0, "tid": 7, "ts": ${38471 + i}.5, "dur": ${i % 17 === 0 ? 5e9 : 12.25}, "args": {"correlation": ${i}, "stream": 7, "device": 0, "grid": [${i % 11}, 15, 1], "est. achieved occupancy %": 31${i % 13 === 0 ? ', "x": NaN' : ''}}}`,
  (i: number) =>
    `{"ph":"M","name":"thread_name","pid":0,"tid":${i % 4},"ts":0,"args":{"name":"stream é ${i % 2}"}}`,
  (i: number) =>
    `{"ph": "${i % 2 ? 'B' : 'E'}", "cat": "c${i % 29}", "name": "outer", "pid": 1, "tid": 1, "ts": ${38471 + i}}`,
  (i: number) =>
    `{"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 402, "tid": 402, "ts": ${38471 + i}, "dur": 1, "args": {"Collective name": "allreduce", "Comms Id": ${2 ** 40 + (i % 3)}, "correlation": ${i % 5 === 0 ? 2 ** 35 : i}}}`,
];

const document = (order: readonly number[]) =>
  Buffer.from(
    `{"schemaVersion": 1, "distributedInfo": {"rank": 3},\n "traceEvents": [\n${order.map((e, i) => EVENTS[e]!(i + 1)).join(',\n  ')}\n], "traceName": "x\\"y"}`,
  );

const anyOrder = fc.array(fc.integer({ min: 0, max: EVENTS.length - 1 }), { minLength: 80, maxLength: 300 });
/** In thousandths of the document. The first cut is after the header: before it there is nothing to join to. */
const anyCuts = fc.array(fc.integer({ min: 60, max: 1000 }), { minLength: 3, maxLength: 8 });
const cutsIn = (bytes: Uint8Array, shares: readonly number[]) =>
  shares.map((share) => Math.floor((share * bytes.length) / 1000)).sort((a, b) => a - b);
/** Each scanner takes 10 ms to make. */
const FEW = 15;

describe('parts of a trace that several scanners read', () => {
  it('give the model that one scanner gives', () => {
    let joined = 0;
    fc.assert(
      fc.property(anyOrder, anyCuts, fc.integer({ min: 1, max: 3 }), (order, shares, scanners) => {
        const bytes = document(order);
        const got = readInShards(bytes, cutsIn(bytes, shares), scanners, [1, 4]);
        joined += got.joined;
        expect(digest(got.result)).toBe(digest(readInOrder(bytes)));
      }),
      { numRuns: cases(FEW, 1000) },
    );
    expect(joined).toBeGreaterThan(2 * cases(FEW, 1000));
  });

  it('give it for events without any text', () => {
    const events = Array.from({ length: 200 }, (_, i) => `{"ph":"${'XiB'[i % 3]}","ts":${i + 1},"dur":1}`);
    const bytes = Buffer.from(`[${events.join(',')}]`);
    const cuts = [1500, 3000, 4500];
    const { result, joined } = readInShards(bytes, cuts, 1);
    expect(joined).toBe(cuts.length);
    expect(digest(result)).toBe(digest(readInOrder(bytes)));
  });

  it('give it, or nothing, for damaged traces', () => {
    const anyDamage = fc.array(fc.record({ at: fc.nat(), value: fc.integer({ min: 0, max: 255 }) }), {
      minLength: 1,
      maxLength: 3,
    });
    let joined = 0;
    fc.assert(
      fc.property(anyOrder, anyCuts, anyDamage, (order, shares, damage) => {
        const bytes = document(order);
        for (const { at, value } of damage) bytes[at % bytes.length] = value;
        const got = readInShards(bytes, cutsIn(bytes, shares), 2);
        joined += got.joined;
        if (got.result !== null) expect(digest(got.result)).toBe(digest(readInOrder(bytes)));
      }),
      { numRuns: cases(FEW, 1000) },
    );
    expect(joined).toBeGreaterThan(cases(FEW, 1000));
  });

  it('give it, or nothing, for traces in any order of keys', () => {
    fc.assert(
      fc.property(fc.nat(), anyCuts, (seed, shares) => {
        const { bytes } = tortureDocument(seed, 80);
        const { result } = readInShards(bytes, cutsIn(bytes, shares), 2);
        if (result !== null) expect(digest(result)).toBe(digest(readInOrder(bytes)));
      }),
      { numRuns: cases(FEW, 1000) },
    );
  });

  it.each(SOAK ? ALL : SOME)('give it for %s', (name) => {
    const bytes = gunzipSync(readFileSync(new URL(`${name}/rank0.json.gz`, FIXTURES)));
    const cuts = Array.from({ length: 9 }, (_, i) => Math.floor(((i + 1) * bytes.length) / 10.3));
    const { result, joined } = readInShards(bytes, cuts, 3);
    expect(joined).toBe(cuts.length);
    expect(digest(result)).toBe(digest(readInOrder(bytes)));
  });
});

/** The same data with the bytes of its arrays as text: to compare millions of numbers one by one takes a minute. */
function digest(value: unknown): string {
  return JSON.stringify(value, (_, v) => {
    if (ArrayBuffer.isView(v))
      return `${v.constructor.name} ${Buffer.from(v.buffer, v.byteOffset, v.byteLength).toString('base64')}`;
    return typeof v === 'bigint' ? `${v}` : v;
  });
}
