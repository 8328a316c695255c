import type { ProblemText } from '../../base/problem.js';
import { largest } from '../../base/statistics.js';
import { FaultCounter } from '../common/fault-counter.js';
import { ANY_PROCESS, type EventColumns, type EventKind, KIND } from './event-columns.js';
import { copyName, fillName, plainName } from './names.js';
import type { Row } from './sqlite-row.js';
import { MAX_NAME, type NsysStrings } from './to-trace-data.js';

const FAULTS = {
  'not-a-database': {
    message: 'The file begins as an SQLite database but cannot be read as one.',
    consequence: 'It was not read: export it again with `nsys export --type sqlite`.',
  },
  'not-nsys': {
    message: 'The SQLite database has no tables of Nsight Systems.',
    consequence: 'It was not read: whyslow reads what `nsys export --type sqlite` writes.',
  },
  'nothing-traced': {
    message:
      'It is a recording of Nsight Systems without CUDA calls, kernels and NVTX ranges: record again with `nsys profile -t cuda,nvtx,osrt`, and check that the recorded process computes on a GPU.',
    consequence: 'It was not read.',
  },
  'rocm-database': {
    message:
      'it is a database of a ROCm profiler (rocprofv3, RPD), which whyslow does not read; pass a trace that torch.profiler wrote with export_chrome_trace("trace.json.gz")',
    consequence: 'It was not read.',
  },
  'cannot-seek': {
    message: 'An nsys export cannot be read from a pipe or a packed file: unpack it first.',
    consequence: 'It was not read.',
  },
  'cut-database': {
    message: 'The database is shorter than its header says: it was cut or is still being written.',
    consequence: 'Rows on the missing pages are left out.',
  },
  'bad-pages': {
    message: 'Pages of the database are missing, of the wrong kind, or belong to two tables.',
    consequence: 'Their rows are left out.',
  },
  'bad-rows': { message: 'Rows of the database make no sense.', consequence: 'They are left out.' },
  'impossible-time': {
    message: 'Events end before they begin, or have no time.',
    consequence: 'They are left out.',
  },
  'missing-names': {
    message: 'Names of events are not in the table of strings.',
    consequence: 'These events have no name, so no rule knows what they are.',
  },
  'other-processes': {
    message: 'Further processes did a little work on a GPU.',
    consequence: 'They are left out: a rank does more.',
  },
} as const satisfies Record<string, ProblemText>;

type NsysFaults = FaultCounter<keyof typeof FAULTS>;
export const newNsysFaults = (): NsysFaults => new FaultCounter(FAULTS, 'row');

/** Number of a column of the table that is being read; NO_COLUMN where this version of nsys does not write it. */
export type ColumnOf = (name: string) => number;
type Visit = (row: Row) => void;
type Collect = (
  columnOf: ColumnOf,
  into: { events: EventColumns; strings: NsysStrings; faults: NsysFaults },
) => Visit;

/** NVTX ranges by `eventType`: pushed and popped on one thread, or started and ended anywhere. */
const PUSH_POP = 59;
const START_END = 60;

const onHost =
  (kind: EventKind): Collect =>
  (columnOf, { events, strings, faults }) => {
    const [start, end, tid, name] = ['start', 'end', 'globalTid', 'nameId'].map(columnOf) as [
      number,
      number,
      number,
      number,
    ];
    const correlation = columnOf('correlationId');
    return (row) => {
      const [from, to] = [row.number(start), row.number(end)];
      if (!(to >= from)) return faults.add('impossible-time', null);
      const process = row.process(tid);
      const track = events.hostTrack(process, row.thread(tid));
      const added = events.add(kind, process, track, from, to, strings.ofId(row.number(name)));
      // Only calls of CUDA start work; calls of the system have numbers of their own.
      if (kind === 'cuda_runtime') events.correlate(added, row.number(correlation));
    };
  };

type NameOf = (row: Row) => number;

/** Migrated pages of unified memory, which nobody launches: they run while a kernel or the host touches the pages. */
const isMigration = (copyKind: number): boolean => copyKind >= 11 && copyKind <= 13;

const onGpu =
  (kind: EventKind, naming: (columnOf: ColumnOf, strings: NsysStrings) => NameOf): Collect =>
  (columnOf, { events, strings, faults }) => {
    const nameOf = naming(columnOf, strings);
    const [start, end, pid, device, stream] = ['start', 'end', 'globalPid', 'deviceId', 'streamId'].map(
      columnOf,
    ) as [number, number, number, number, number];
    const correlation = columnOf('correlationId');
    const copyKind = columnOf('copyKind');
    const grid = ['gridX', 'gridY', 'gridZ'].map(columnOf);
    const block = ['blockX', 'blockY', 'blockZ'].map(columnOf);
    const registers = columnOf('registersPerThread');
    const shared = ['staticSharedMemory', 'dynamicSharedMemory'].map(columnOf);
    const [bytes, node, graph] = ['bytes', 'graphNodeId', 'graphId'].map(columnOf) as [
      number,
      number,
      number,
    ];
    const triple = triples(strings);
    return (row) => {
      const [from, to] = [row.number(start), row.number(end)];
      if (!(to >= from)) return faults.add('impossible-time', null);
      const onDevice = row.number(device);
      const track = events.gpuTrack(onDevice || 0, row.number(stream) || 0);
      const isCopy = !isMigration(row.number(copyKind));
      const added = events.add(
        isCopy ? kind : 'uvm_migration',
        row.process(pid),
        track,
        from,
        to,
        nameOf(row),
      );
      if (!isCopy) return;
      events.correlate(added, row.number(correlation));
      events.gpu(added, {
        stream: row.number(stream),
        device: onDevice,
        grid: triple(row, grid[0]!, grid[1]!, grid[2]!),
        block: triple(row, block[0]!, block[1]!, block[2]!),
        registers: row.number(registers),
        sharedMemory: shared.reduce((sum, c) => sum + row.number(c), 0),
      });
      if (!Number.isNaN(row.number(bytes))) events.copy(added, row.number(bytes));
      if (row.number(node) > 0 || row.number(graph) > 0)
        events.graph(added, row.number(graph), row.number(node));
    };
  };

/** Sizes of grids and blocks as texts, `[8, 1, 1]`. There are few different ones, and a text is made only once for each. */
function triples(strings: NsysStrings): (row: Row, x: number, y: number, z: number) => number {
  const known = new Map<number, number>();
  return (row, columnX, columnY, columnZ) => {
    const x = row.number(columnX);
    const y = row.number(columnY);
    const z = row.number(columnZ);
    if (Number.isNaN(x)) return 0;
    // Above 2^53 two of them might share a key.
    const key = x < 2 ** 26 && y < 2 ** 13 && z < 2 ** 13 ? (z * 2 ** 13 + y) * 2 ** 26 + x : Number.NaN;
    const token = known.get(key) ?? strings.ofText(`[${x}, ${y}, ${z}]`);
    if (!Number.isNaN(key)) known.set(key, token);
    return token;
  };
}

const ranges: Collect = (columnOf, { events, strings, faults }) => {
  const [start, end, tid, text, textId, type] = [
    'start',
    'end',
    'globalTid',
    'text',
    'textId',
    'eventType',
  ].map(columnOf) as [number, number, number, number, number, number];
  return (row) => {
    const eventType = row.number(type);
    if (eventType !== PUSH_POP && eventType !== START_END && !Number.isNaN(eventType)) return;
    const [from, to] = [row.number(start), row.number(end)];
    // Marks have no end, and neither do ranges that were open when the recording stopped.
    if (Number.isNaN(to)) return;
    if (!(to >= from)) return faults.add('impossible-time', null);
    const inline = row.text(text, MAX_NAME);
    const name = inline === null ? strings.ofId(row.number(textId)) : strings.ofText(plainName(inline));
    const process = row.process(tid);
    const kind = eventType === START_END ? 'nvtx_start_end' : 'user_annotation';
    events.add(kind, process, events.hostTrack(process, row.thread(tid)), from, to, name);
  };
};

/** Tables of events and how their rows are collected. Tables that a version of nsys does not have are skipped. */
export const EVENT_TABLES: readonly (readonly [table: string, Collect])[] = [
  ['CUPTI_ACTIVITY_KIND_RUNTIME', onHost('cuda_runtime')],
  // Until 2019 calls of the driver had a table of their own.
  ['CUPTI_ACTIVITY_KIND_DRIVER', onHost('cuda_runtime')],
  [
    'CUPTI_ACTIVITY_KIND_KERNEL',
    onGpu('kernel', (columnOf, strings) => {
      const [demangled, short] = [columnOf('demangledName'), columnOf('shortName')];
      return (row) =>
        strings.ofId(Number.isNaN(row.number(demangled)) ? row.number(short) : row.number(demangled));
    }),
  ],
  // With --cuda-graph-trace=graph, the default, a graph is one piece of work.
  ['CUPTI_ACTIVITY_KIND_GRAPH_TRACE', onGpu('kernel', (_, strings) => () => strings.ofText('CUDA graph'))],
  [
    'CUPTI_ACTIVITY_KIND_MEMCPY',
    onGpu('gpu_memcpy', (columnOf, strings) => {
      const [kind, from, to] = ['copyKind', 'srcKind', 'dstKind'].map(columnOf) as [number, number, number];
      return (row) => strings.ofText(copyName(row.number(kind), row.number(from), row.number(to)));
    }),
  ],
  [
    'CUPTI_ACTIVITY_KIND_MEMSET',
    onGpu('gpu_memset', (columnOf, strings) => {
      const kind = columnOf('memKind');
      return (row) => strings.ofText(fillName(row.number(kind)));
    }),
  ],
  ['NVTX_EVENTS', ranges],
  ['OSRT_API', onHost('os_runtime')],
];

/** A process with less than this part of the most GPU work of any is no rank. */
const HELPER = 0.1;

/** The processes that work on GPUs, in the order of their GPUs; without any, the one with most events. */
export function mainProcesses(events: EventColumns): { readonly main: number[]; readonly others: number } {
  const { columns, rows } = events.rows;
  const work = new Map<number, { count: number; device: number }>();
  const any = new Map<number, number>();
  for (let row = 0; row < rows; row++) {
    const process = columns.process[row]!;
    if (process === ANY_PROCESS) continue;
    any.set(process, (any.get(process) ?? 0) + 1);
    if (!isWork(columns.kind[row]!)) continue;
    const device = events.deviceOf(columns.track[row]!);
    const known = work.get(process);
    if (!known) work.set(process, { count: 1, device });
    else {
      known.count++;
      known.device = Math.min(known.device, device);
    }
  }
  const most = largest([...work.values()].map((w) => w.count));
  const main = [...work].filter(([, w]) => w.count >= HELPER * most);
  main.sort(([a, { device }], [b, other]) => device - other.device || a - b);
  if (main.length > 0) return { main: main.map(([process]) => process), others: work.size - main.length };
  const busiest = [...any].sort((a, b) => b[1] - a[1])[0]?.[0] ?? ANY_PROCESS;
  return { main: [busiest], others: 0 };
}

const isWork = (kind: number) => kind === KIND.kernel || kind === KIND.gpu_memcpy || kind === KIND.gpu_memset;
