import { gunzipSync } from 'node:zlib';
import { DMON, QUERY } from '../dmon/tables.js';
import { forgeFacts } from '../forge-facts.js';
import { RANK, RUN } from '../manifests.js';
import { pickled } from '../pickles.js';
import { Random } from '../simulate/random.js';
import { EVENT_SHAPES, range, rankEvents } from './events.js';
import { mutateToken, mutateTree, pick } from './mutate.js';
import { mutateDatabase } from './mutate-database.js';
import { mutateMessage } from './mutate-message.js';
import { mutateText } from './mutate-text.js';
import * as valid from './samples.js';

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

/** Draws no change. */
const UNCHANGED = new Random(0, 0);

/** Fields are rarely all wrong at once: then nothing would be reached behind the first check. */
const fewTimes = (random: Random) =>
  random === UNCHANGED || random.next() < 0.15 ? 0 : 1 + Math.floor(6 * random.next() ** 3);

function asJson(value: unknown, random: Random): string {
  mutateTree(value, random, fewTimes(random));
  const text = JSON.stringify(value) ?? 'null';
  return random !== UNCHANGED && random.next() < 0.1 ? mutateToken(text, random) : text;
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
  return random !== UNCHANGED && random.next() < 0.1 ? mutateToken(text, random) : text;
}

/** How the files of a format are named, and how one is made of a valid one. */
type Format = readonly [
  name: (rank: number) => string,
  draw: (random: Random, rank: number) => string | Buffer,
];

const tree = (value: unknown) => (random: Random) => asJson(structuredClone(value), random);
const lines = (values: readonly unknown[]) => (random: Random) => {
  const copy = structuredClone(values) as unknown[];
  mutateTree(copy, random, fewTimes(random));
  const text = copy.map((value) => JSON.stringify(value) ?? '').join('\n');
  return `${random !== UNCHANGED && random.next() < 0.1 ? mutateToken(text, random) : text}\n`;
};
const pickle = (value: unknown) => (random: Random) => {
  const copy = structuredClone(value);
  mutateTree(copy, random, fewTimes(random));
  return pickled(copy);
};
const text = (of: string) => (random: Random) => mutateText(of, random, fewTimes(random));
const message = (of: Buffer) => (random: Random) => mutateMessage(of, random, fewTimes(random));
const database = (of: Buffer) => (random: Random) => mutateDatabase(of, random, fewTimes(random));
const facts = (random: Random, rank: number) =>
  gunzipSync(
    forgeFacts(valid.FACTS[rank % valid.FACTS.length]!, (parts) => {
      for (let i = fewTimes(random); i > 0; i--) mutateTree(pick(random, parts).json, random, 1);
    }),
  );

const FORMATS = {
  kineto: [(rank) => `rank${rank}.json`, kineto],
  events: [(rank) => `cuda_events_rank_${rank}.jsonl`, events],
  'manifest of a rank': [
    (rank) => `ranks/rank_${rank}.json`,
    (random, rank) => tree({ ...RANK, rank })(random),
  ],
  'manifest of a run': [() => 'run.json', tree(RUN)],
  'nvidia-smi dmon': [() => 'telemetry/dmon-node-1.txt', text(DMON)],
  'nvidia-smi CSV': [() => 'telemetry/smi-node-1.csv', text(QUERY)],
  'rocm-smi': [() => 'telemetry/dmon-node-1.jsonl', lines(valid.ROCM)],
  'samples of /proc': [() => 'telemetry/proc-node-1.jsonl', lines(valid.PROC_SAMPLES)],
  facts: [(rank) => `rank${rank}.facts`, facts],
  perfetto: [(rank) => `rank${rank}.pftrace`, message(valid.PFTRACE)],
  nsys: [(rank) => `rank${rank}.sqlite`, database(valid.DATABASE)],
  'flight recorder': [(rank) => `nccl_trace_rank_${rank}`, pickle(valid.FLIGHT)],
  'flight recorder as JSON': [(rank) => `nccl_trace_rank_${rank}.json`, tree(valid.FLIGHT)],
  'status of RAS': [(rank) => `ras-${rank}.json`, tree(valid.RAS)],
  'memory snapshot': [(rank) => `memory_rank${rank}.pickle`, pickle(valid.MEMORY)],
  'TORCH_TRACE log': [(rank) => `dedicated_log_torch_trace_rank_${rank}_a.log`, text(valid.TORCH_TRACE)],
  'TORCH_LOGS log': [() => 'stderr.log', text(valid.TORCH_LOG)],
  'py-spy stacks': [(rank) => `stacks_rank${rank}.txt`, text(valid.DUMPED_STACKS)],
  'py-spy stacks as JSON': [(rank) => `stacks_rank${rank}.json`, tree(valid.STACKS_JSON)],
  'raw stacks': [(rank) => `raw_rank${rank}.txt`, text(valid.RAW_STACKS)],
  speedscope: [(rank) => `speedscope_rank${rank}.json`, tree(valid.SPEEDSCOPE)],
  'flame graph': [(rank) => `flame_rank${rank}.svg`, text(valid.FLAME_GRAPH)],
  tracebacks: [() => 'stacks.txt', text(valid.TRACEBACKS)],
  incidents: [() => 'incidents.jsonl', lines([valid.INCIDENT])],
  'execution trace': [(rank) => `et_rank${rank}.json`, tree(valid.EXECUTION)],
} as const satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];

/** Traces and event logs more often: they have the most fields. */
const KINDS: readonly FormatName[] = [
  ...FORMAT_NAMES,
  ...Array<FormatName>(5).fill('kineto'),
  'events',
  'events',
  'events',
];

/** A file of this format; of any, if none is named. */
export function drawDocument(random: Random, rank: number, format = pick(random, KINDS)): Document {
  const [name, draw] = FORMATS[format] as Format;
  return { name: name(rank), data: Buffer.from(draw(random, rank)) };
}

/** As a tool writes it. */
export const validDocument = (format: FormatName): Document => drawDocument(UNCHANGED, 0, format);
