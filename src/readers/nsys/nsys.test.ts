import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryFile } from '../../../test/helpers/nsys.js';
import { stepNumber } from '../../model/host-names.js';
import { Trace } from '../../model/trace.js';
import { acceleratorOf } from '../../traces/accelerator.js';
import { analyzeTrace } from '../../traces/analyze-trace.js';
import { checkTrace } from '../../traces/checks/trace-checks.js';
import { EVENT_TABLES, newNsysFaults } from './collect.js';
import { markSteps, nsysReader, readExport } from './descriptor.js';
import { EventColumns, KINDS } from './event-columns.js';
import { copyName, plainName } from './names.js';
import type { Row } from './sqlite-row.js';
import { columnsOf } from './sqlite-schema.js';
import { NsysStrings } from './to-trace-data.js';

const bytes = readFileSync(new URL('../../../test/fixtures/nsys/loop.sqlite', import.meta.url));

describe('an export with the documented schema', async () => {
  const { trace: data, problems } = await readExport(memoryFile(bytes));
  const trace = new Trace(data);

  it('has the events of the trace it was made from, joined to their launches', () => {
    expect(problems).toEqual([]);
    expect(Object.fromEntries(data.kinds.map((k) => [k.categoryName, k.events]))).toMatchObject({
      cuda_runtime: 221,
      kernel: 112,
      gpu_memcpy: 4,
      gpu_memset: 44,
      os_runtime: 1,
    });
    // The same number as in the trace: their launches were before the window.
    expect(trace.links.workWithoutLaunch).toBe(12);
  });

  it('has steps, copies, devices and the time of day', () => {
    expect(trace.steps.map((s) => s.index)).toEqual([3, 4, 5, 6]);
    const copies = Array.from(data.copies.row, (row) => trace.name(row));
    expect(new Set(copies)).toEqual(new Set(['Memcpy HtoD (Pageable -> Device)', 'Memset (Device)']));
    expect(data.header).toMatchObject({
      hostName: 'node7',
      devices: [{ id: 0, name: 'NVIDIA H200', computeMajor: 9, warpSize: 32 }],
      versions: { nsys_schema_version: '3.25.0' },
    });
    expect(data.baseNs).toBe(1_790_000_000_123_456_789n);
    expect(data.tracks[0]).toMatchObject({ pid: '4711' });
    expect(data.gpu.grid.every((id) => /^\[\d+, \d+, \d+\]$/.test(trace.strings.text(id)) || id === 0)).toBe(
      true,
    );
  });
});

/** The same bytes with a table of another name, which is as long. */
const renamed = (from: string, to: string) =>
  Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1');

describe('an export without kernels', async () => {
  const { trace: data } = await readExport(
    memoryFile(renamed('ACTIVITY_KIND_KERNEL', 'ACTIVITY_KIND_XERNEL')),
  );
  const trace = new Trace(data);

  it('has calls, copies and fills, and is not analyzed: what the program computes was not recorded', () => {
    expect(trace.links.work.length).toBe(48);
    expect(acceleratorOf(trace)).toEqual({ kind: 'cuda', byNsys: true, kernels: 0, unread: 0 });
    expect(analyzeTrace(trace, { steps: null })).toBeNull();
  });

  it('gets advice about nsys, none about torch.profiler', () => {
    const checks = checkTrace(trace);
    expect(checks[0]).toMatchObject({
      code: 'no-kernels',
      severity: 'severe',
      message: 'Nsight Systems recorded 221 CUDA calls and no kernels',
      consequence: expect.stringContaining('nsys profile -t cuda,nvtx'),
    });
    expect(JSON.stringify(checks)).not.toMatch(/ProfilerActivity/);
  });
});

it('a database of rocprofv3 is named, with what to pass instead', async () => {
  let named = renamed('CUPTI_ACTIVITY', 'rocpd_ACTIVITY').toString('latin1');
  for (const table of ['StringIds', 'NVTX_EVENTS', 'OSRT_API'])
    named = named.replaceAll(table, 'x'.repeat(table.length));
  const { problems } = await readExport(memoryFile(Buffer.from(named, 'latin1')));
  expect(problems.map((p) => p.code)).toEqual(['rocm-database']);
});

describe('broken exports', () => {
  const codes = async (input: Uint8Array) =>
    (await readExport(memoryFile(input))).problems.map((p) => p.code);

  it('say what is wrong in words', async () => {
    expect(await codes(bytes.subarray(0, 60))).toEqual(['not-a-database']);
    expect(await codes(bytes.subarray(0, 20_000))).toContain('cut-database');
    const result = nsysReader.create({}).finish();
    expect(result.problems.map((p) => p.message)).toEqual([expect.stringMatching(/unpack it first/)]);
  });

  it('give a page that belongs to two tables to one of them', async () => {
    const looped = Uint8Array.from(bytes);
    // Every interior page names itself as its last child.
    for (let page = 1; page * 1024 < looped.length; page++)
      if (looped[page * 1024] === 5) new DataView(looped.buffer).setUint32(page * 1024 + 8, page + 1);
    expect(await codes(looped)).toContain('bad-pages');
  });

  it('never throw, hang or make rows up', async () => {
    const flip = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    const rows = (await readExport(memoryFile(bytes))).trace.rows;
    await fc.assert(
      fc.asyncProperty(
        fc.array(flip, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 0, max: bytes.length }),
        async (flips, end) => {
          const broken = Uint8Array.from(bytes);
          for (const [at, value] of flips) broken[at] = value;
          const { trace } = await readExport(memoryFile(broken.subarray(0, end)));
          // A page of another table may be read as one with shorter rows, but no page twice.
          expect(trace.rows).toBeLessThan(4 * rows);
          for (let row = 0; row < trace.rows; row++) {
            expect(trace.dur[row]!).toBeGreaterThanOrEqual(0);
            expect(trace.track[row]!).toBeLessThan(trace.tracks.length);
          }
          new Trace(trace).links;
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('columns of a table', () => {
  it('come from its statement, whatever it looks like', () => {
    const sql = `CREATE TABLE "t" (
      id INTEGER NOT NULL PRIMARY KEY, -- the key, (with a comma)
      "start" INT CHECK (start > 0, 1), /* , */ [end] INTEGER, \`x y\` DECIMAL(10, 2),
      UNIQUE (start, "end"))`;
    expect([...columnsOf(sql)]).toEqual([
      ['id', -2],
      ['start', 1],
      ['end', 2],
      ['x y', 3],
    ]);
  });

  it('keep a key that is not the rowid', () => {
    expect([...columnsOf('CREATE TABLE t (id INT PRIMARY KEY, v TEXT)')]).toEqual([
      ['id', 0],
      ['v', 1],
    ]);
  });
});

describe('names', () => {
  it.each([
    ['cudaLaunchKernel_v7000', 'cudaLaunchKernel'],
    ['cudaMemcpyAsync_ptsz_v7000', 'cudaMemcpyAsync'],
    ['cuMemcpyHtoD_v2', 'cuMemcpyHtoD_v2'],
    ['aten::mm, seq = 12, op_id = 3', 'aten::mm'],
    ['my_kernel_v7000x', 'my_kernel_v7000x'],
  ])('%s is %s', (text, plain) => expect(plainName(text)).toBe(plain));

  it('of copies are Kineto’s', () => {
    expect(copyName(2, 2, 1)).toBe('Memcpy DtoH (Device -> Pinned)');
    expect(copyName(99, Number.NaN, 2)).toBe('Memcpy Unknown (Unknown -> Device)');
  });

  it.each([
    ['step 12', 'step', 12],
    ['iteration_3', 'iteration', 3],
    ['ProfilerStep#4', 'profilerstep', 4],
    ['train_step', 'train_step', Number.NaN],
    ['Trainer: global_step=7', 'trainer: global_step', 7],
  ])('%s is a step', (name, series, number) => expect(stepNumber(name)).toEqual({ series, number }));

  it.each(['forward', 'optimizer', 'step the scheduler', 'batch_norm', 'aten::step'])(
    '%s is none',
    (name) => {
      expect(stepNumber(name)).toBeNull();
    },
  );
});

/** Ranges on one thread as name, start and end: the steps that they mark, with their lengths. */
function stepsOf(ranges: readonly (readonly [string, number, number])[]) {
  const events = new EventColumns();
  const strings = new NsysStrings();
  for (const [name, start, end] of ranges)
    events.add('user_annotation', 1, events.hostTrack(1, 1), start, end, strings.ofText(name));
  markSteps(events, strings, () => true);
  const { columns, rows } = events.rows;
  return Array.from({ length: rows }, (_, row) => [
    strings.text(columns.name[row]!),
    columns.dur[row]!,
  ]).filter(([name]) => `${name}`.startsWith('ProfilerStep#'));
}

it('ranges that mark steps and are never popped end where the next one begins', () => {
  const unpopped = [10, 20, 30, 40].map((start, i) => [`iteration${i + 10}`, start, 900] as const);
  expect(stepsOf(unpopped)).toEqual([
    ['ProfilerStep#10', 10],
    ['ProfilerStep#11', 10],
    ['ProfilerStep#12', 10],
  ]);
});

it('ranges with the names of steps that overlap mark none', () => {
  expect(stepsOf([10, 20, 30].map((start, i) => [`step ${i}`, start, start + 15] as const))).toEqual([]);
});

it('an export without CUDA calls, kernels and ranges says what to record', async () => {
  const empty = ['CUPTI_ACTIVITY', 'NVTX_EVENTS', 'OSRT_API'].reduce(
    (text, name) => text.replaceAll(name, `Z${name.slice(1)}`),
    bytes.toString('latin1'),
  );
  const { problems } = await readExport(memoryFile(Buffer.from(empty, 'latin1')));
  expect(problems).toMatchObject([
    { code: 'nothing-traced', message: expect.stringContaining('nsys profile -t cuda,nvtx') },
  ]);
});

it('migrated pages of unified memory are no copies of the program: nobody launches them', () => {
  const events = new EventColumns();
  const columns = ['start', 'end', 'copyKind', 'bytes'];
  const [, collect] = EVENT_TABLES.find(([table]) => table === 'CUPTI_ACTIVITY_KIND_MEMCPY')!;
  const visit = collect((name) => columns.indexOf(name), {
    events,
    strings: new NsysStrings(),
    faults: newNsysFaults(),
  });
  for (const copyKind of [1, 11, 12])
    visit({
      number: (c: number) => [0, 100, copyKind, 4096][c] ?? Number.NaN,
      process: () => 1,
    } as unknown as Row);
  const { columns: found, rows } = events.rows;
  expect(Array.from(found.kind.subarray(0, rows), (kind) => KINDS[kind]![0])).toEqual([
    'gpu_memcpy',
    'uvm_migration',
    'uvm_migration',
  ]);
});
