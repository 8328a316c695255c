import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { readInputs } from '../../ingest/read-run.js';
import { otherProducer } from './descriptor.js';

interface Event {
  readonly [key: string]: unknown;
}
const span = (name: string, more: Event = {}): Event => ({
  ph: 'X',
  name,
  ts: 5,
  dur: 1,
  pid: 1,
  tid: 1,
  ...more,
});
const processName = (name: string): Event => ({ ph: 'M', name: 'process_name', pid: 1, args: { name } });
const refusalOf = (events: readonly Event[], fields: Event | null = {}) =>
  otherProducer(
    readTrace(Buffer.from(JSON.stringify(fields === null ? events : { ...fields, traceEvents: events })))
      .trace,
  );

describe('a Chrome trace of another program is named', () => {
  it.each<[string, readonly Event[], Event | null, RegExp]>([
    ['XProf', [processName('/device:TPU:0'), span('fusion.3')], {}, /probably of XProf/],
    ['TensorFlow', [span('MatMul')], { metadata: { tool: 'tensorflow' } }, /probably of XProf/],
    ['Proton', [processName('matmul_kernel Core3 CTA1'), span('load')], {}, /probably of Proton/],
    ['VizTracer', [span('f', { cat: 'FEE' })], { viztracer_metadata: { version: '0.16' } }, /VizTracer/],
    ['ONNX Runtime', [span('model_loading_uri', { cat: 'Session' })], null, /ONNX Runtime/],
    ['rocprof', [processName('CPU HIP API'), span('hipLaunchKernel')], {}, /probably of rocprof/],
    ['an eBPF tracer', [span('cuMemAlloc_v2')], { displayTimeUnit: 'ns' }, /traces calls of CUDA/],
    ['an IBM AIU', [span('add_11 Cmpt Exec')], null, /IBM AIU/],
    ['a tracer of kernels', [span('void gemm<4>(int)'), span('[MEMCPY] HtoD')], null, /GPU kernels/],
    [
      'a tool that also says "kernel"',
      [span('sys_read', { cat: 'kernel' })],
      null,
      /events such as "sys_read"/,
    ],
    ['another framework', [span('FullyConnected', { cat: 'Operator' })], {}, /another program/],
    ['anything', [span('init'), span('work')], null, /events such as "init" and "work"/],
    ['a list that begins with an empty object', [{}, span('init'), span('work')], null, /"init" and "work"/],
    [
      'a tool that copies the version of the format',
      [span('Line 48', { cat: 'Line 48' }), span('Line 49', { cat: 'Line 49' })],
      { schemaVersion: 1 },
      /events such as "Line 48" and "Line 49"/,
    ],
    ['anything without names', [{ ph: 'i', ts: 1 }], null, /no names/],
  ])('%s', (_, events, fields, expected) => {
    const text = refusalOf(events, fields);
    expect(text).toMatch(expected);
    expect(text).toMatch(
      /^it is a Chrome trace.* not of PyTorch’s profiler; pass a trace that torch\.profiler/,
    );
  });
});

describe('a trace of PyTorch’s profiler is read, even if little of it is there', () => {
  it.each<[string, readonly Event[], Event | null]>([
    ['only its header', [span('x')], { schemaVersion: 1 }],
    ['only its own category', [span('PyTorch Profiler (0)', { cat: 'Trace' })], { schemaVersion: 1 }],
    ['only its trace name', [span('x')], { traceName: 'a.json' }],
    ['a category', [span('x', { cat: 'cpu_op' })], null],
    ['a category of 2021', [span('aten::mm', { cat: 'Operator' })], null],
    ['kernels with their streams', [span('x', { cat: 'kernel', args: { stream: 7, device: 0 } })], null],
    ['an operator without a category', [span('aten::mm')], null],
    ['a profiler of 2019', [span('mm', { pid: 'CPU functions' })], null],
    ['a step', [span('ProfilerStep#4')], null],
    ['no events', [], {}],
  ])('%s', (_, events, fields) => expect(refusalOf(events, fields)).toBeNull());
});

describe('a Chrome trace of another program, as input', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whyslow-other-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'run'));
  const write = (name: string, events: readonly Event[]) => {
    writeFileSync(join(folder, name), JSON.stringify(events));
    return join(folder, name);
  };
  const other = write('run/other.json', [span('init')]);
  const trace = write('run/trace.json', [span('aten::mm', { cat: 'cpu_op' })]);

  it('is refused alone, without a list of formats', async () => {
    const error = await readInputs([other], 'summary', { jobs: 1 }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      message: expect.stringMatching(/cannot be read: it is a Chrome trace of another program/),
      more: [],
    });
  });

  it.each([
    ['named', [other, trace]],
    ['in a folder', [join(folder, 'run')]],
  ])('is left out with its reason if it is %s next to a trace', async (_, paths) => {
    const run = await readInputs(paths, 'summary', { jobs: 1 });
    expect(run.members.map((m) => m.path)).toEqual([trace]);
    expect(run.problems.map((p) => [p.code, p.message])).toEqual([
      ['unreadable-file', expect.stringContaining('other.json cannot be used: it is a Chrome trace')],
    ]);
  });
});
