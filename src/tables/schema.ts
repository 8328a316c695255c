import { TIME_CLASSES } from '../facts/time-class.js';

/** How a column is stored. `STRING` is UTF-8 text. */
export type ColumnType = 'BOOLEAN' | 'INT32' | 'INT64' | 'DOUBLE' | 'STRING';

export interface ColumnInfo {
  readonly name: string;
  readonly type: ColumnType;
  /** With the unit, and what null means. Docs are made from it. */
  readonly about: string;
}

export interface TableInfo {
  readonly name: TableName;
  readonly about: string;
  readonly columns: readonly ColumnInfo[];
}

export const TABLE_NAMES = ['steps', 'kernels', 'operators', 'collectives', 'gaps', 'findings'] as const;
export type TableName = (typeof TABLE_NAMES)[number];

const column = (name: string, type: ColumnType, about: string): ColumnInfo => ({ name, type, about });

const RANK = column('rank', 'INT32', 'rank');
const STEP = column('step', 'INT32', 'step number; null: outside the recorded steps');
const START = column(
  'start_ns',
  'INT64',
  'start, ns since 1970 on the clock of the lowest rank, if ranks share collectives; else on its own clock',
);
const DURATION = column('duration_us', 'DOUBLE', 'duration, µs');

/** What each class of time means is in the glossary. */
const CLASSES = TIME_CLASSES.map((name) => column(`${name}_ms`, 'DOUBLE', `ms of the step in class ${name}`));

export const TABLES: readonly TableInfo[] = [
  {
    name: 'steps',
    about: 'One row for each whole step of a rank. The classes of time add up to the step.',
    columns: [
      RANK,
      column('host', 'STRING', 'machine; null: not known'),
      column('step', 'INT32', 'step number'),
      column('source', 'STRING', '`trace`, `log` or `facts`, where the row comes from'),
      column(
        'start_ns',
        'INT64',
        'when the device began it, as in the other tables; null: logs and facts do not say',
      ),
      column('duration_ms', 'DOUBLE', 'as recorded, ms; a trace includes the cost of profiling'),
      ...CLASSES,
      column('gpu_work', 'INT32', 'kernels, copies and fills that it launched; null for logs and facts'),
    ],
  },
  {
    name: 'kernels',
    about: 'One row for each kernel, copy and fill on a GPU.',
    columns: [
      RANK,
      STEP,
      START,
      DURATION,
      column('name', 'STRING', 'as recorded'),
      column('kind', 'STRING', '`kernel`, `memcpy` or `memset`'),
      column(
        'class',
        'STRING',
        'what it does: `gemm`, `attention`, `elementwise`, `comms`, `copy`, …; from its name',
      ),
      column('precision', 'STRING', '`fp32`, `tf32`, `bf16`, …; null: not in the name'),
      column('device', 'INT32', 'GPU number; null: not recorded'),
      column('stream', 'INT32', 'stream number; null: not recorded'),
      column(
        'launch_us',
        'DOUBLE',
        'from the start of the launching call to its own start, µs; null: no launch',
      ),
      column('operator', 'STRING', 'operator that launched it; null: none recorded'),
      column('grid', 'STRING', 'blocks, `[x, y, z]`; null: not recorded'),
      column('block', 'STRING', 'threads of a block, `[x, y, z]`; null: not recorded'),
      column('occupancy', 'DOUBLE', 'estimated by the profiler, percent; null: not recorded'),
      column('bytes', 'DOUBLE', 'bytes of a copy or fill; null: not recorded'),
    ],
  },
  {
    name: 'operators',
    about:
      'One row for each call on the host: operators, annotations, Python frames, runtime and driver calls.',
    columns: [
      RANK,
      STEP,
      START,
      DURATION,
      column('self_us', 'DOUBLE', 'duration without the calls inside it, µs'),
      column('gpu_us', 'DOUBLE', 'GPU time of what it and the calls inside it launched, µs'),
      column('name', 'STRING', 'as recorded'),
      column('category', 'STRING', '`operator`, `annotation`, `python`, `runtime` or `driver`'),
      column('parent', 'STRING', 'the call around it; null: none'),
      column('depth', 'INT32', 'number of calls around it'),
      column('thread', 'STRING', 'thread id'),
      column('input_dims', 'STRING', 'shapes of the inputs; null: not recorded (`record_shapes`)'),
    ],
  },
  {
    name: 'collectives',
    about: 'One row for each collective of each rank. Rows with the same `collective` are one collective.',
    columns: [
      RANK,
      STEP,
      column('start_ns', 'INT64', 'start, as in the other tables; null: the log does not say'),
      DURATION,
      column('collective', 'INT32', 'number of the matched collective; null: no partner found'),
      column('kind', 'STRING', '`all_reduce`, `all_gather`, `reduce_scatter`, `send`, …'),
      column('group_name', 'STRING', 'process group'),
      column('group_size', 'INT32', 'ranks in the group; null: not known'),
      column('sequence', 'DOUBLE', 'number in its process group; null: not recorded'),
      column('peer', 'INT32', 'other side of send and recv, root of broadcast; null: none'),
      column('bytes', 'DOUBLE', "size S of NCCL's formulas, bytes; null: not recorded"),
      column('dtype', 'STRING', 'type of the elements; null: not recorded'),
      column('on_device', 'BOOLEAN', 'true: a kernel; false: a call on the host'),
      column('exposed_us', 'DOUBLE', 'part not overlapped by computing, µs'),
      column('wait_us', 'DOUBLE', 'waiting for other ranks, µs; null: not matched'),
      column('transfer_us', 'DOUBLE', 'duration without waiting, µs; null: not matched'),
      column('late_rank', 'INT32', 'rank that came last; null: not known'),
      column(
        'bus_gb_per_s',
        'DOUBLE',
        'bus bandwidth of the transfer as nccl-tests counts it; null: not known',
      ),
    ],
  },
  {
    name: 'gaps',
    about: 'One row for each gap in which a GPU had nothing to do, within complete steps.',
    columns: [
      RANK,
      STEP,
      START,
      DURATION,
      column('reason', 'STRING', 'class of time: `idle_data`, `idle_sync`, `idle_host`, …'),
      column('next_kernel', 'STRING', 'the work that ended it; null: none'),
      column('next_operator', 'STRING', 'operator that launched that work; null: none recorded'),
    ],
  },
  {
    name: 'findings',
    about: 'One row for each finding of `whyslow diagnose`, in the order to try them.',
    columns: [
      column('position', 'INT32', '1 is the first to try'),
      column('rule', 'STRING', 'number of the rule, as `whyslow rules` lists it'),
      column('id', 'STRING', 'name of the finding'),
      column('title', 'STRING', 'what is wrong'),
      column('cost', 'STRING', '`free`, `knob`, `code` or `hardware`'),
      column('risk', 'STRING', '`none`, `numerics`, `memory` or `data`'),
      column('speedup_low', 'DOUBLE', 'factor; null: not known'),
      column('speedup_likely', 'DOUBLE', 'factor; null: not known'),
      column('speedup_high', 'DOUBLE', 'factor; null: not known'),
      column('saving_ms', 'DOUBLE', 'ms per step that this fix saves after those before it; null: not known'),
      column('confidence', 'DOUBLE', '0 to 1'),
      column('ranks', 'STRING', 'ranks that have it, `0, 1, 5`'),
      column('evidence', 'STRING', 'one line for each piece of evidence'),
      column('fix', 'STRING', 'what to change'),
      column('code', 'STRING', 'as code; empty: none'),
    ],
  },
];

export const tableOf = (name: TableName): TableInfo => TABLES.find((t) => t.name === name)!;

/** The part of docs/tables.md that lists the columns. */
export const columnsAsMarkdown = (): string =>
  TABLES.map(({ name, about, columns }) =>
    [
      `### ${name}\n\n${about}\n`,
      '| column | type | meaning |',
      '| --- | --- | --- |',
      ...columns.map((c) => `| \`${c.name}\` | ${c.type} | ${c.about} |`),
      '',
    ].join('\n'),
  ).join('\n');
