import { readFileSync } from 'node:fs';
import { deflateSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { toPftrace } from '../../../test/helpers/pftrace/encode.js';
import { Message } from '../../../test/helpers/pftrace/message.js';
import * as p from '../../../test/helpers/pftrace/packets.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { readCut } from '../../../test/helpers/readers.js';
import { Category, isGpuWork } from '../../model/category.js';
import { Trace } from '../../model/trace.js';
import type { TraceData } from '../../model/trace-data.js';
import { perfettoReader } from './descriptor.js';

const folder = new URL('../../../', import.meta.url);
const json = gunzipSync(readFileSync(new URL('zoo/fixtures/h2d_pageable/rank0.json.gz', folder)));
const fixture = gunzipSync(readFileSync(new URL('test/fixtures/perfetto/h2d_pageable.pftrace.gz', folder)));

function read(bytes: Uint8Array) {
  const result = readCut(perfettoReader, bytes, []);
  return result;
}
const codesOf = (bytes: Uint8Array) => read(bytes).problems.map((x) => x.code);

/** Slices as text, without what the format does not have. */
function slicesOf(data: TraceData, categories: readonly Category[]): string[] {
  const trace = new Trace(data);
  const base = data.baseNs + BigInt(data.header.baseTimeNanoseconds ?? 0);
  const lines: string[] = [];
  for (let row = 0; row < data.rows; row++) {
    const { phase, category, categoryName } = data.kinds[data.kind[row]!]!;
    if (phase !== 'X' || !categories.includes(category)) continue;
    const { pid, tid } = data.tracks[data.track[row]!]!;
    const time = base + BigInt(data.ts[row]!);
    const ids = isGpuWork(category) ? data.correlation[row] : data.external[row];
    lines.push([categoryName, trace.name(row), pid, tid, time, data.dur[row], ids].join(' | '));
  }
  return lines.sort();
}

const GPU = [Category.kernel, Category.memcpy, Category.memset];
const HOST = [Category.cpuOp, Category.annotation, Category.pythonFunction];

describe('a trace encoded by the protobuf package', () => {
  const expected = readTrace(json.toString()).trace;
  const { trace, problems } = read(fixture);

  it('has the slices of the JSON that it was made from', () => {
    expect(slicesOf(trace, HOST)).toEqual(slicesOf(expected, HOST));
    expect(slicesOf(trace, GPU)).toEqual(slicesOf(expected, GPU));
  });

  it('joins GPU work to its launches, with streams, sizes and bytes', () => {
    const [own, other] = [new Trace(trace), new Trace(expected)];
    expect(own.links.workWithoutLaunch).toBe(other.links.workWithoutLaunch);
    expect(own.links.launches).toBe(other.links.launches);
    const sizes = ({ data, strings }: Trace) =>
      Array.from(data.gpu.row, (row, i) =>
        isGpuWork(data.kinds[data.kind[row]!]!.category)
          ? `${data.correlation[row]} ${data.gpu.stream[i]} ${data.gpu.device[i]} ${strings.text(data.gpu.grid[i]!)} ${strings.text(data.gpu.block[i]!)} ${data.gpu.registers[i]}`
          : '',
      ).sort();
    expect(sizes(own).filter(Boolean)).toEqual(sizes(other).filter(Boolean));
    expect(Array.from(trace.copies.bytes).sort()).toEqual(Array.from(expected.copies.bytes).sort());
  });

  it('has steps, and says what it had to guess', () => {
    expect(new Trace(trace).steps.map((s) => s.index)).toEqual(new Trace(expected).steps.map((s) => s.index));
    expect(problems.map((x) => x.code)).toEqual(['inferred-copies']);
  });

  it('is the same as encoded in TypeScript', () => {
    const again = read(toPftrace(json));
    expect(again.problems).toEqual(problems);
    const all = Object.values(Category);
    expect(slicesOf(again.trace, all)).toEqual(slicesOf(trace, all));
  });
});

describe('what else is in the file', () => {
  it('gives the compute capability of the GPU', () => {
    expect(read(fixture).trace.header.devices).toMatchObject([
      { id: 0, name: 'unknown GPU (sm_90)', computeMajor: 9, computeMinor: 0 },
    ]);
  });
});

const HEAD = [p.processTrack(1, 42, 'python'), p.threadTrack(2, 1, 42, 43, 'main')];
const NAMES = p.interned({
  names: ['aten::mm', 'ProfilerStep#1'],
  categories: ['cpu_op', 'user_annotation'],
  specifications: [],
  kernels: [],
  argumentNames: [],
});
const slice = (from: number, to: number, args: Record<string, unknown> = {}, name: number | string = 1) => [
  p.begin({
    ns: 1_700_000_000_000_000_000n + BigInt(from),
    track: 2,
    name,
    category: 1,
    annotations: Object.entries({ 'External id': 7, ...args }).map(([key, value]) =>
      p.annotation(key, value),
    ),
  }),
  p.end(1_700_000_000_000_000_000n + BigInt(to), 2),
];
const trace = (...packets: readonly (Buffer | readonly Buffer[])[]) =>
  Buffer.concat([...HEAD, NAMES, ...packets.flat()]);

describe('arguments', () => {
  const readOne = (args: Record<string, unknown>) => read(trace(slice(0, 10, args))).trace;

  it('go where those of JSON go, whatever their type', () => {
    const { shapes, strings, ops, python, collectives } = readOne({
      'Input Dims': [[8, 512], [], [[1], [2, -3]]],
      'Input type': ['float', '', 'a "quoted" \\ text'],
      'Sequence number': 3,
      'Python parent id': null,
      'Python id': 4,
      'In msg nelems': 1.5,
      'Comms Id': 9_223_372_036_854_775_000n,
      'Process Group Ranks': [0, 1],
      'Collective name': 'allreduce',
    });
    const text = (id: number | undefined) => new Trace({ ...readOne({}), strings }).strings.text(id!);
    expect(text(shapes.dims[0])).toBe('[[8, 512], [], [[1], [2, -3]]]');
    expect(text(shapes.types[0])).toBe('["float", "", "a \\"quoted\\" \\\\ text"]');
    expect(ops.sequence[0]).toBe(3);
    expect([python.id[0], python.parent[0]]).toEqual([4, 0xffffffff]);
    expect(collectives.inElements[0]).toBe(1.5);
    expect(text(collectives.commsId[0])).toBe('9223372036854775000');
    expect(text(collectives.groupRanks[0])).toBe('[0, 1]');
    expect(text(collectives.collective[0])).toBe('allreduce');
  });

  it('keep numbers that their columns cannot hold', () => {
    expect(readOne({ 'External id': 2n ** 40n, correlation: -1, 'Sequence number': 'x' }).wideIds).toEqual([
      { row: 2, field: 'external', text: '1099511627776' },
      { row: 2, field: 'correlation', text: '-1' },
      { row: 2, field: 'ops.sequence', text: 'x' },
    ]);
  });
});

describe('faults in the data', () => {
  it('names of events that the file lacks', () => {
    expect(codesOf(trace(slice(0, 10, {}, 99)))).toEqual(['missing-names']);
  });

  it('events without a category are counted, because no analysis finds operators or steps in them', () => {
    const bare = p.begin({ ns: 5n, track: 2, name: 1, annotations: [p.annotation('External id', 1)] });
    expect(read(trace(bare, p.end(6n, 2))).problems).toMatchObject([
      { code: 'missing-categories', count: 1 },
    ]);
  });

  it('threads that the file does not describe', () => {
    const events = p.begin({ ns: 5n, track: 77, name: 1, annotations: [p.annotation('External id', 1)] });
    expect(codesOf(trace(slice(0, 10), events, p.end(6n, 77)))).toContain('missing-tracks');
  });

  it('events without an end are left out, and so are ends without an event', () => {
    const [begin] = slice(20, 30);
    const { trace: data, problems } = read(trace(slice(0, 10), begin!));
    expect(problems).toMatchObject([{ code: 'open-slices', count: 1 }]);
    expect(data.kinds.filter((k) => k.phase === 'X')).toMatchObject([{ events: 1 }]);
    expect(codesOf(trace(slice(0, 10), p.end(1n, 2)))).toEqual(['open-slices']);
  });

  it('known fields of the wrong type and unknown fields are skipped', () => {
    const odd = new Message().text(9, 'x').number(4, 1).fixed32(999, 1).text(1234, 'later').double(5000, 2);
    const event = new Message().raw(odd.finish()).number(9, 1).number(11, 2).number(10, 1);
    const packet = new Message().number(8, 100).number(10, 1).message(11, event).text(13, '').number(60, 1);
    const { trace: data, problems } = read(
      trace(slice(0, 10), new Message().message(1, packet).finish(), p.end(110n, 2)),
    );
    expect(problems.map((x) => x.code)).toEqual(
      ['missing-categories', 'impossible-time'].slice(0, problems.length),
    );
    expect(data.rows).toBe(4);
  });

  it('a packet that makes no sense is left out', () => {
    const broken = new Message().bytes(1, Buffer.from([0x5a, 0x7f, 0x01])).finish();
    const { trace: data, problems } = read(trace(slice(0, 10), broken, slice(20, 30)));
    expect(problems).toMatchObject([{ code: 'broken-packet', count: 1 }]);
    expect(data.rows).toBe(4);
  });

  it('absurd lengths and other files end the reading, with what came before', () => {
    const absurd = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    for (const rest of [absurd, Buffer.from('plain text'), Buffer.from([0x0b, 1, 2])]) {
      const { trace: data, problems } = read(trace(slice(0, 10), rest));
      expect(problems).toMatchObject([{ code: 'broken-stream', first: { unit: 'byte' } }]);
      expect(data.rows).toBe(3);
    }
  });

  it('reads packets that the SDK has compressed, and says when it cannot', () => {
    const packed = (bytes: Uint8Array) => new Message().message(1, new Message().bytes(50, bytes)).finish();
    const whole = Buffer.concat(slice(20, 30));
    expect(read(trace(slice(0, 10), packed(deflateSync(whole)))).trace.rows).toBe(4);
    expect(codesOf(trace(slice(0, 10), packed(Buffer.from('not zlib'))))).toEqual(['bad-compression']);
    const bomb = deflateSync(Buffer.alloc(65 << 20));
    expect(codesOf(trace(slice(0, 10), packed(bomb)))).toEqual(['bad-compression']);
  });

  it('a trace of Android or Chrome gets one sentence', () => {
    const sched = new Message().message(1, new Message().number(1, 3).bytes(2, Buffer.from('sched')));
    const android = new Message().message(1, sched).finish();
    const chrome = p.begin({ ns: 5n, track: 2, name: 'RunTask', annotations: [p.annotation('url', 'x')] });
    for (const bytes of [Buffer.concat([android, android]), Buffer.concat([...HEAD, chrome, p.end(9n, 2)])]) {
      const { trace: data, problems } = read(bytes);
      expect(data.kinds).toEqual([]);
      expect(problems).toMatchObject([
        { code: 'not-pytorch', message: expect.stringMatching(/not one of the PyTorch/) },
      ]);
    }
  });
});

describe('recognizing the format', () => {
  it.each([
    ['a trace of PyTorch', fixture, true],
    ['one that is cut', fixture.subarray(0, 300), true],
    ['JSON after an empty line', Buffer.from('\n{"traceEvents": []}'), false],
    ['a log after an empty line', Buffer.from('\nabout to start\nstep 1\nstep 2\n'.repeat(20)), false],
    ['a short text after an empty line', Buffer.from('\nPab'), false],
    ['nothing', Buffer.alloc(0), false],
    ['zeros', Buffer.alloc(4096), false],
    ['an SQLite database', Buffer.from('SQLite format 3\0'), false],
  ])('%s', (_, head, isPerfetto) => expect(perfettoReader.sniff(head.subarray(0, 65536))).toBe(isPerfetto));
});
