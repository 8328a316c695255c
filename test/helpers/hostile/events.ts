/** Traces that are cheap to write and expensive to read, after /adversarial: each grows in one direction with `n`. */

interface TraceEvent {
  readonly ph: string;
  readonly [field: string]: unknown;
}
export type Events = readonly TraceEvent[];

const range = (n: number): readonly number[] => Array.from({ length: Math.floor(n) }, (_, i) => i);
const x = (cat: string, name: string, ts: number, dur: number, args: object = {}, tid = 1): TraceEvent => ({
  ph: 'X',
  cat,
  name,
  pid: 100,
  tid,
  ts,
  dur,
  args,
});
const kernel = (
  ts: number,
  dur: number,
  correlation: number,
  name = 'sgemm',
  args: object = {},
  stream = 7,
) => ({
  ...x('kernel', name, ts, dur, { device: 0, stream, correlation, ...args }, stream),
  pid: 0,
});
const launch = (ts: number, dur: number, correlation: number, tid = 1) =>
  x('cuda_runtime', 'cudaLaunchKernel', ts, dur, { correlation }, tid);
const step = (i: number, ts: number, dur: number) => x('user_annotation', `ProfilerStep#${i}`, ts, dur);
const steps = (count: number, period: number) => range(count).map((i) => step(i, i * period, period));
/** Kernels in every step of a trace that is `length` µs long, so that there is something to judge. */
const some = (length: number) =>
  range(200).flatMap((i) => [launch((i * length) / 200, 1, i), kernel((i * length) / 200 + 2, 3, i)]);
/** `n` launches with their kernels, one every 4 µs, in four steps. */
const launched = (
  n: number,
  args: (i: number) => { readonly name?: string; readonly args?: object },
): Events => [
  ...steps(4, n),
  ...range(n).flatMap((i) => {
    const { name, args: more } = args(i);
    return [launch(i * 4, 1, i), kernel(i * 4 + 1, 2, i, name, more)];
  }),
];
/** One event every 4 µs, in addition to `some`. */
const beside = (n: number, one: (i: number) => TraceEvent): Events => [
  ...steps(4, n),
  ...range(n).map(one),
  ...some(4 * n),
];

const NCCL = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL';
const collective = (seq: number, more: object) => ({
  'Collective name': 'allreduce',
  dtype: 'Float',
  'In msg nelems': 1000,
  'Out msg nelems': 1000,
  'Group size': 2,
  'Process Group Name': '0',
  'Process Group Ranks': '[0, 1]',
  Seq: seq,
  ...more,
});

/** By what there is much of. */
export const EVENT_SHAPES: Readonly<Record<string, (n: number) => Events>> = {
  'process groups': (n) =>
    launched(n, (i) => {
      const group = { 'Process Group Name': `${i}`, 'Process Group Description': `g${i}` };
      return { name: NCCL, args: collective(i, { ...group, 'Process Group Ranks': `[0, ${i + 1}]` }) };
    }),
  'members of groups': (n) =>
    launched(n, (i) => {
      const members = { 'Group size': 131_072, 'Global rank start': i, 'Global rank stride': 1 };
      return { name: NCCL, args: { ...collective(i, members), 'Process Group Ranks': undefined } };
    }),
  'kinds of collectives': (n) =>
    launched(n, (i) => ({ name: NCCL, args: collective(i, { 'Collective name': `c${i}`, dtype: `F${i}` }) })),
  steps: (n) =>
    range(n).flatMap((s) => [step(s, s * 10, 9), launch(s * 10 + 1, 1, s), kernel(s * 10 + 3, 3, s)]),
  'launches from first and last step': (n) => [
    ...range(n).map((i) => step(i, i * 10, 9.5)),
    ...range(n).flatMap((i) => {
      const at = (i >> 1) * 1e-4 + (i % 2 === 0 ? 1 : n * 10 - 9);
      return [launch(at, 0.0001, i), kernel(n * 10 + i * 2, 1, i)];
    }),
  ],
  'kernel names': (n) => launched(n, (i) => ({ name: `void kernel_${i}<float>(int)` })),
  'operator names': (n) => beside(n, (i) => x('cpu_op', `aten::op_${i}`, i * 4, 3)),
  categories: (n) => beside(n, (i) => x(`cat${i}`, 'n', i * 4, 3)),
  'argument names': (n) => beside(n, (i) => x('cpu_op', 'n', i * 4, 3, { [`key${i}`]: i })),
  threads: (n) => [
    ...steps(4, n * 10),
    ...range(n).flatMap((i) => [
      x('cpu_op', 'aten::mm', i * 40, 10, {}, i),
      launch(i * 40 + 1, 1, i, i),
      kernel(i * 40 + 2, 3, i),
    ]),
  ],
  streams: (n) => [
    ...steps(4, n),
    ...range(n).flatMap((i) => [launch(i * 4, 1, i), kernel(i * 4 + 1, 3, i, 'sgemm', {}, 7 + i)]),
  ],
  'one correlation id': (n) => [
    ...steps(4, n),
    ...range(n).flatMap((i) => [launch(i * 4, 1, 5), kernel(i * 4 + 2, 1, 5)]),
  ],
  synchronizations: (n) => [
    ...steps(4, n),
    ...range(n).flatMap((i) => [
      launch(i * 4, 1, i),
      kernel(i * 4 + 1, 1, i),
      x('cuda_runtime', 'cudaStreamSynchronize', i * 4 + 1.5, 2, { correlation: 1e7 + i }),
    ]),
  ],
  'nested operators': (n) => [
    ...steps(4, n * 10),
    ...range(n).map((i) => x('cpu_op', `aten::op${i % 50}`, i, 4 * n - 2 * i)),
    ...some(4 * n),
  ],
  'overlapping operators': (n) => [
    ...steps(4, n * 10),
    ...range(n).map((i) => x('cpu_op', 'aten::mm', i, n * 2 + i)),
    ...some(4 * n),
  ],
  'overlapping kernels': (n) => [
    ...steps(4, n * 10),
    ...range(n).flatMap((i) => [
      launch(i * 4, 1, i),
      kernel(i * 4 + 2, n * 10, i, 'sgemm', {}, 7 + (i % 100)),
    ]),
  ],
  'kernels of no length': (n) => [
    ...steps(4, 10),
    ...range(n).map((i) => launch(5, 0, i)),
    ...range(n).map((i) => kernel(5, 0, i)),
  ],
  'data loaders': (n) =>
    beside(n, (i) =>
      x('user_annotation', 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__', i * 4, 3),
    ),
  'Python frames': (n) =>
    beside(n, (i) =>
      x('python_function', `a.py(${i % 100}): f`, i * 4, 3, { 'Python id': i, 'Python parent id': i - 1 }),
    ),
  'begin events': (n) => [
    ...beside(n, (i) => ({ ph: 'B', cat: 'cpu_op', name: 'b', pid: 100, tid: 1, ts: i })),
    ...range(n).map((i) => ({ ph: 'E', cat: 'cpu_op', name: 'b', pid: 100, tid: 1, ts: n + i })),
  ],
  'begins without an end': (n) =>
    beside(n, (i) => ({ ph: 'B', cat: 'cpu_op', name: 'b', pid: 100, tid: i, ts: i })),
  flows: (n) => [
    ...beside(n, (i) => ({ ph: 's', cat: 'ac2g', name: 'ac2g', id: i % 10, pid: 100, tid: 1, ts: i })),
    ...range(n).map((i) => ({
      ph: 'f',
      cat: 'ac2g',
      name: 'ac2g',
      id: i % 10,
      pid: 100,
      tid: 1,
      ts: i,
      bp: 'e',
    })),
  ],
};

/** The trace of one rank with `n` collectives, as `of` says. */
export const rankEvents = (n: number, stepCount: number, of: (i: number) => object): Events => [
  ...steps(stepCount, (n * 10) / stepCount),
  ...range(n).flatMap((i) => [
    launch(i * 10, 1, i),
    kernel(i * 10 + 1, 5 + (i % 3), i, NCCL, { ...collective(i, {}), ...of(i) }, 20),
  ]),
];
export { range };
