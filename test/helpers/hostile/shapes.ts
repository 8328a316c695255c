import { gzipSync } from 'node:zlib';
import { overlappingZip, tar, zip, zstdFrame } from '../archives.js';
import { EVENT_SHAPES, type Events, range, rankEvents } from './events.js';
import { READER_SHAPES } from './reader-shapes.js';
import { one, put, type Shape } from './shape.js';

const HEADER = '"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}]';
const trace = (events: Events, header = HEADER) => `{${header},"traceEvents":${JSON.stringify(events)}}`;
const SMALL = trace(EVENT_SHAPES.steps!(20));
/** One event: nothing to analyze. */
const TINY = '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}';
const bytes = (text: string) => Buffer.from(text);

const traceShapes: readonly Shape[] = Object.entries(EVENT_SHAPES).map(([name, events]) => ({
  name,
  few: 2000,
  many: 20_000,
  write: one('trace.json', (n) => trace(events(n))),
}));

const record = (fields: object) =>
  `${JSON.stringify({ rank: 0, duration_ms: 5, start_ms: 0, clock: 'gpu', run: 'a', ...fields })}\n`;
const logOf = (rank: number, stepCount: number, of: object = {}) =>
  range(stepCount)
    .map((step) => record({ name: 'iteration', step, rank, start_ms: step * 5, ...of }))
    .join('');

const ranksWith =
  (of: (i: number, rank: number) => object, stepCount = 4) =>
  async (folder: string, n: number) => {
    for (const rank of range(4)) {
      const header = `${HEADER},"distributedInfo":{"backend":"nccl","rank":${rank},"world_size":4}`;
      const events = rankEvents(n, Math.min(stepCount, n), (i) => of(i, rank));
      await put(folder, `rank${rank}.json`, trace(events, header));
    }
  };
const noise = (i: number, rank: number) => (Math.imul(i + 1, 2654435761 + rank * 40503) >>> 8) % 7;
const ALL = { 'Group size': 4, 'Process Group Ranks': '[0, 1, 2, 3]' };

const GPU_LINE = (i: number, gpu: number) =>
  ` 20261115   08:${String(Math.floor(i / 60) % 60).padStart(2, '0')}:${String(i % 60).padStart(2, '0')} ${gpu} 135 90\n`;
const DMON = '#Date       Time        gpu    pwr    sm\n#YYYYMMDD   HH:MM:SS    Idx      W     %\n';

/** In addition to those of one trace: headers, archives, logs, many files. */
const otherShapes: readonly Shape[] = [
  {
    name: 'header fields',
    few: 10_000,
    many: 400_000,
    write: one('t.json', (n) =>
      trace(
        EVENT_SHAPES.steps!(20),
        `${HEADER}${range(n)
          .map((i) => `,"k${i}":1`)
          .join('')}`,
      ),
    ),
  },
  {
    name: 'MB of header texts, gzipped',
    few: 4,
    many: 100,
    write: one('t.json.gz', (n) =>
      gzipSync(
        trace(
          EVENT_SHAPES.steps!(20),
          `${HEADER}${range(n)
            .map((i) => `,"k${i}":"${'A'.repeat(1e6)}"`)
            .join('')}`,
        ),
      ),
    ),
  },
  {
    name: 'devices in the header',
    few: 10_000,
    many: 300_000,
    write: one('t.json', (n) =>
      trace(
        EVENT_SHAPES.steps!(20),
        `"schemaVersion":1,"deviceProperties":[${range(n)
          .map((i) => `{"id":${i}}`)
          .join()}]`,
      ),
    ),
  },
  {
    name: 'nesting of arguments',
    few: 5000,
    many: 200_000,
    write: one('t.json', (n) => {
      const deep = `{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":${'{"a":'.repeat(n)}1${'}'.repeat(n)}}`;
      return `{${HEADER},"traceEvents":[${deep},${JSON.stringify(EVENT_SHAPES.steps!(20)).slice(1)}}`;
    }),
  },
  {
    name: 'nesting of a header field',
    few: 5000,
    many: 200_000,
    write: one('t.json', (n) =>
      trace(EVENT_SHAPES.steps!(20), `${HEADER},"distributedInfo":${'['.repeat(n)}${']'.repeat(n)}`),
    ),
  },
  {
    name: 'MB of names, gzipped',
    few: 3,
    many: 50,
    write: one('t.json.gz', (n) =>
      gzipSync(
        trace([
          ...range(n).map((i) => ({
            ph: 'X',
            cat: 'cpu_op',
            name: `${i}${'A'.repeat(1e6)}`,
            pid: 1,
            tid: 1,
            ts: i,
            dur: 1,
          })),
          ...EVENT_SHAPES.steps!(20),
        ]),
      ),
    ),
  },
  {
    name: 'traces in a tar',
    few: 25,
    many: 4000,
    write: one('t.tar.gz', (n) =>
      gzipSync(tar(range(n).map((i) => ({ name: `rank${i}.json`, data: bytes(SMALL) })))),
    ),
  },
  {
    name: 'tiny members of a tar',
    few: 25,
    many: 10_000,
    write: one('t.tar.gz', (n) =>
      gzipSync(tar(range(n).map((i) => ({ name: `m${i}.json`, data: bytes(TINY) })))),
    ),
  },
  {
    name: 'empty members of a tar',
    few: 1500,
    many: 40_000,
    write: async (folder, n) => {
      const empty = range(n).map((i) => ({ name: `m${i}.json`, data: new Uint8Array() }));
      await put(folder, 't.tar.gz', gzipSync(tar([...empty, { name: 'rank0.json', data: bytes(SMALL) }])));
    },
  },
  {
    name: 'members of a zip',
    few: 25,
    many: 8000,
    write: one('t.zip', (n) => zip(range(n).map((i) => ({ name: `rank${i}.json`, data: bytes(TINY) })))),
  },
  {
    name: 'overlapping members of a zip',
    few: 15,
    many: 500,
    // As many members as kilobytes, all of the same bytes.
    write: one('t.zip', (n) => overlappingZip(n, bytes(trace(EVENT_SHAPES.steps!(n * 10))))),
  },
  {
    name: 'frames of zstd',
    few: 250,
    many: 10_000,
    write: one('t.json.zst', (n) => {
      const text = bytes(trace(EVENT_SHAPES.steps!(n)));
      const size = Math.ceil(text.length / n);
      return Buffer.concat(range(n).map((i) => zstdFrame(text.subarray(i * size, (i + 1) * size))));
    }),
  },
  {
    name: 'empty frames of zstd',
    few: 300,
    many: 20_000,
    write: one('t.json.zst', (n) =>
      Buffer.concat([
        ...range(n).map(() => zstdFrame(new Uint8Array(), { window: 0x70 })),
        zstdFrame(bytes(SMALL)),
      ]),
    ),
  },
  {
    name: 'logs of ranks',
    few: 40,
    many: 2000,
    write: async (folder, n) => {
      for (const rank of range(n)) await put(folder, `cuda_events_rank_${rank}.jsonl`, logOf(rank, 10));
    },
  },
  { name: 'steps of a log', few: 3000, many: 60_000, write: one('rank_0.jsonl', (n) => logOf(0, n)) },
  {
    name: 'phases of a log',
    few: 1500,
    many: 20_000,
    write: one(
      'rank_0.jsonl',
      (n) =>
        logOf(0, 20) +
        range(n)
          .map((i) => record({ name: `p${i}`, step: i % 20 }))
          .join(''),
    ),
  },
  {
    name: 'runs of a log',
    few: 500,
    many: 8000,
    write: one('rank_0.jsonl', (n) =>
      range(n)
        .map((i) => logOf(0, 3, { run: `r${i}` }))
        .join(''),
    ),
  },
  {
    name: 'runs of a log, in threads',
    few: 500,
    many: 8000,
    options: ['--jobs', '2'],
    write: async (folder, n) => {
      for (const rank of range(3))
        await put(
          folder,
          `rank_${rank}.jsonl`,
          range(n)
            .map((i) => logOf(rank, 1, { run: `r${i}` }))
            .join(''),
        );
    },
  },
  {
    name: 'files',
    few: 80,
    many: 10_000,
    write: async (folder, n) => {
      await put(folder, 'rank0.json', SMALL);
      for (const i of range(n)) await put(folder, `files/${i}.txt`, 'x');
    },
  },
  {
    name: 'traces as files',
    few: 15,
    many: 1000,
    write: async (folder, n) => {
      for (const i of range(n)) await put(folder, `rank${i}.json`, SMALL);
    },
  },
  {
    name: 'manifests',
    few: 60,
    many: 4000,
    write: async (folder, n) => {
      await put(folder, 'rank0.json', SMALL);
      for (const rank of range(n)) {
        const manifest = { whyslow: 1, run: 'a', rank, host: `h${rank}`, pid: 1, world_size: n, anchors: [] };
        await put(folder, `ranks/rank_${rank}.json`, JSON.stringify(manifest));
      }
    },
  },
  {
    name: 'samples of telemetry',
    few: 5000,
    many: 200_000,
    write: async (folder, n) => {
      await put(folder, 'rank0.json', SMALL);
      await put(
        folder,
        'telemetry/dmon-h.txt',
        DMON +
          range(n)
            .map((i) => GPU_LINE(i, i % 8))
            .join(''),
      );
    },
  },
  {
    name: 'GPUs in telemetry',
    few: 2000,
    many: 40_000,
    write: async (folder, n) => {
      await put(folder, 'rank0.json', SMALL);
      await put(
        folder,
        'telemetry/dmon-h.txt',
        DMON +
          range(n)
            .map((i) => GPU_LINE(0, i))
            .join(''),
      );
    },
  },
  { name: 'collectives of 4 ranks', few: 500, many: 8000, write: ranksWith(() => ALL) },
  {
    name: 'collectives without numbers',
    few: 500,
    many: 8000,
    write: ranksWith((i, rank) => ({ ...ALL, Seq: undefined, 'In msg nelems': 1 + noise(i, rank) })),
  },
  {
    name: 'collectives with wrong numbers',
    few: 500,
    many: 8000,
    write: ranksWith((i, rank) => ({ ...ALL, Seq: noise(i, rank) })),
  },
  {
    name: 'groups of 4 ranks',
    few: 500,
    many: 8000,
    write: ranksWith((i) => ({ ...ALL, 'Process Group Name': `${i}` })),
  },
  { name: 'steps of 4 ranks', few: 500, many: 8000, write: ranksWith(() => ALL, Number.POSITIVE_INFINITY) },
];

export const SHAPES: readonly Shape[] = [...traceShapes, ...otherShapes, ...READER_SHAPES];
