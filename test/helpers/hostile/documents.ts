import { DMON, QUERY } from '../dmon/tables.js';
import { RANK, RUN } from '../manifests.js';
import type { Random } from '../simulate/random.js';
import { EVENT_SHAPES, range, rankEvents } from './events.js';
import { mutateToken, mutateTree, pick } from './mutate.js';

/** A small file of some format, with something wrong in it. */
export interface Document {
  readonly name: string;
  readonly data: Buffer;
}

export const HEADER = {
  schemaVersion: 1,
  baseTimeNanoseconds: 1_790_857_026e9,
  displayTimeUnit: 'ms',
  with_stack: 0,
  record_shapes: 1,
  profile_memory: 0,
  trace_id: 'A',
  cuda_runtime_version: 12_080,
  deviceProperties: [
    { id: 0, name: 'NVIDIA H200', totalGlobalMem: 1.5e11, computeMajor: 9, computeMinor: 0, numSms: 132 },
  ],
  distributedInfo: {
    backend: 'nccl',
    rank: 0,
    world_size: 2,
    pg_count: 1,
    pg_config: [
      { pg_name: '0', pg_desc: 'default_pg', backend_config: 'cuda:nccl', pg_size: 2, ranks: [0, 1] },
    ],
    nccl_version: '2.27',
  },
};
const SHAPES = Object.values(EVENT_SHAPES);

/** Fields are rarely all wrong at once: then nothing would be reached behind the first check. */
const fewTimes = (random: Random) => (random.next() < 0.15 ? 0 : 1 + Math.floor(6 * random.next() ** 3));

function asJson(value: unknown, random: Random): string {
  mutateTree(value, random, fewTimes(random));
  const text = JSON.stringify(value) ?? 'null';
  return random.next() < 0.1 ? mutateToken(text, random) : text;
}

function kineto(random: Random, rank: number): string {
  const isRank = random.next() < 0.5;
  const events = isRank
    ? rankEvents(8 + Math.floor(8 * random.next()), 4, () => ({}))
    : pick(random, SHAPES)(4 + Math.floor(8 * random.next()));
  // Most shapes have 200 more kernels: too many for a small file.
  const traceEvents = structuredClone(
    events.length > 60 ? events.filter((_, i) => i % 6 < 2 || i < 20) : events,
  );
  const header = structuredClone(HEADER);
  header.distributedInfo.rank = rank;
  // Half of the changes are in the header: it has few fields, but each has a meaning of its own.
  if (random.next() < 0.5) mutateTree(header, random, 1);
  const document = random.next() < 0.05 ? traceEvents : { ...header, traceEvents };
  return asJson(document, random);
}

const PHASES = [
  'iteration',
  'forward',
  'backward',
  'optimizer',
  'data_loading',
  'collective:all_reduce',
  'host_to_device',
];
function events(random: Random, rank: number): string {
  const lines: unknown[] = range(4 + 12 * random.next()).flatMap((step) =>
    PHASES.slice(0, 1 + Math.floor(7 * random.next())).map((name, i) => ({
      ...{
        name,
        step,
        rank,
        duration_ms: 5 + i,
        start_ms: step * 30 + i,
        clock: i % 3 ? 'gpu' : 'cpu',
        run: 'r-1',
      },
    })),
  );
  if (random.next() < 0.7)
    lines.unshift({
      ...structuredClone(RANK),
      rank,
      world_size: 2,
      record_every_n_steps: 1,
      mesh: structuredClone(RUN.mesh),
    });
  mutateTree(lines, random, fewTimes(random));
  const text = lines.map((line) => JSON.stringify(line) ?? '').join('\n');
  return random.next() < 0.1 ? mutateToken(text, random) : text;
}

function telemetry(random: Random): string {
  const text = random.next() < 0.5 ? DMON : QUERY;
  const cells = text.split(/(\s+|,)/);
  const words = [
    '-',
    '',
    'nan',
    '1e999',
    '-1',
    '99999999999999999999',
    '[N/A]',
    '0x',
    '\x1b[2J',
    '#',
    ',',
    '\n',
    'Idx',
  ];
  for (let i = fewTimes(random); i > 0; i--)
    cells[Math.floor(random.next() * cells.length)] = pick(random, words);
  return cells.join('');
}

/** By how often each is drawn; those with more fields more often. */
const KINDS = ['kineto', 'kineto', 'kineto', 'events', 'events', 'rank', 'run', 'telemetry'] as const;

export function drawDocument(random: Random, rank: number): Document {
  const kind = pick(random, KINDS);
  switch (kind) {
    case 'kineto':
      return { name: `rank${rank}.json`, data: Buffer.from(kineto(random, rank)) };
    case 'events':
      return { name: `cuda_events_rank_${rank}.jsonl`, data: Buffer.from(events(random, rank)) };
    case 'rank':
      return {
        name: `ranks/rank_${rank}.json`,
        data: Buffer.from(asJson({ ...structuredClone(RANK), rank }, random)),
      };
    case 'run':
      return { name: 'run.json', data: Buffer.from(asJson(structuredClone(RUN), random)) };
    default:
      return { name: 'telemetry/dmon-node-1.txt', data: Buffer.from(telemetry(random)) };
  }
}
