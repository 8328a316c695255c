import { pickled } from '../pickles.js';
import { range } from './events.js';
import { DUMPED_STACKS, FLIGHT, INCIDENT, MEMORY, PROC_SAMPLES, TORCH_TRACE } from './samples.js';
import { one, type Shape } from './shape.js';

/** Files that are not traces, each with more and more of one thing. What these cost once is in docs/robustness.md. */
const lines = (values: readonly unknown[]) => `${values.map((value) => JSON.stringify(value)).join('\n')}\n`;
const [PROC_HEAD] = PROC_SAMPLES;
const box = (name: string, row: number, samples: number) =>
  `<g><title>${name} (${samples} samples, 1.00%)</title><rect y="${row}" fg:x="0" fg:w="${samples}"/></g>`;

export const READER_SHAPES: readonly Shape[] = [
  {
    name: 'members of a group that did not write a dump',
    few: 4000,
    many: 25_000,
    write: one('nccl_trace_rank_0.json', (n) =>
      JSON.stringify({
        ...FLIGHT,
        pg_config: { '0': { name: '0', desc: 'default_pg', ranks: JSON.stringify(range(n)) } },
      }),
    ),
  },
  {
    name: 'calls in a dump',
    few: 1000,
    many: 15_000,
    write: one('nccl_trace_rank_0', (n) =>
      pickled({ ...FLIGHT, entries: range(n).map((i) => ({ ...FLIGHT.entries[0], collective_seq_id: i })) }),
    ),
  },
  {
    name: 'segments of a memory snapshot',
    few: 2000,
    many: 25_000,
    write: one('memory_rank0.pickle', (n) =>
      pickled({ ...MEMORY, segments: range(n).map((i) => ({ ...MEMORY.segments[0], address: i * 4096 })) }),
    ),
  },
  {
    name: 'steps of a memory snapshot',
    few: 500,
    many: 10_000,
    write: one('memory_rank0.pickle', (n) =>
      pickled({ ...MEMORY, device_traces: [range(n).flatMap(() => MEMORY.device_traces[0]!.slice(1, 7))] }),
    ),
  },
  {
    name: 'processes that each started the next',
    few: 1000,
    many: 20_000,
    write: one('telemetry/proc-a.jsonl', (n) => {
      const processes = range(n).map((i) => ({
        process: { pid: i + 1, parent: i, command: 'python train.py', torch: true },
      }));
      const samples = [0, 1].map((seconds) => ({
        sample: { seconds, processes: range(n).map((i) => ({ pid: i + 1, threads: [{ id: 1, cpu: 0 }] })) },
      }));
      return lines([PROC_HEAD, ...processes, ...samples]);
    }),
  },
  {
    name: 'calls inside one another in a flame graph',
    few: 200,
    many: 2000,
    write: one(
      'flame.svg',
      (n) =>
        `<?xml version="1.0"?><svg xmlns:fg="http://github.com/jonhoo/inferno">${box('all', 0, n + 1)}${range(
          n,
        )
          .map((i) => box(`f${i} (a.py:${i})`, 16 * (i + 1), n - i))
          .join('')}</svg>`,
    ),
  },
  {
    name: 'dumps of stacks',
    few: 100,
    many: 4000,
    write: one('stacks.txt', (n) => DUMPED_STACKS.repeat(Math.ceil(n / 4))),
  },
  {
    name: 'compilations in a log',
    few: 20,
    many: 1000,
    write: one('dedicated_log_torch_trace_rank_0_a.log', (n) => TORCH_TRACE.repeat(n)),
  },
  {
    name: 'incidents',
    few: 500,
    many: 15_000,
    write: one('incidents.jsonl', (n) => lines(range(n).map((i) => ({ ...INCIDENT, id: `${i}` })))),
  },
  {
    name: 'ranks in one log',
    few: 300,
    many: 10_000,
    write: one('events.jsonl', (n) =>
      lines(
        range(6).flatMap((step) =>
          range(n).map((rank) => ({ name: 'iteration', step, rank, duration_ms: 5, start_ms: 5 * step })),
        ),
      ),
    ),
  },
];
