import { describe, expect, it } from 'vitest';
import { readTrace } from '../../test/helpers/read-trace.js';
import type { DeviceKind } from '../facts/accelerator.js';
import { Trace } from '../model/trace.js';
import { acceleratorOf } from './accelerator.js';
import { checkTrace } from './checks/trace-checks.js';

interface Event {
  readonly [key: string]: unknown;
}
const span = (cat: string, name: string, more: Event = {}): Event => ({
  ph: 'X',
  cat,
  name,
  pid: 1,
  tid: 1,
  ts: 5,
  dur: 3,
  ...more,
});
const operator = span('cpu_op', 'aten::mm');
const label = (pid: number, labels: string): Event => ({
  ph: 'M',
  name: 'process_labels',
  pid,
  args: { labels },
});
const processName = (pid: number, name: string): Event => ({
  ph: 'M',
  name: 'process_name',
  pid,
  args: { name },
});
const device = (name: string): Event => ({ deviceProperties: [{ id: 0, name }] });

const traceOf = (events: readonly Event[], header: Event = {}) =>
  new Trace(
    readTrace(JSON.stringify({ schemaVersion: 1, ...header, traceEvents: [operator, ...events] })).trace,
  );

/** As torch_npu writes it: the device's tasks have no category, and times are strings. */
const ASCEND = [
  processName(800, 'Ascend Hardware'),
  { ph: 'X', name: 'aclnnAdd_AddAiCore_Add', pid: 800, tid: 3, ts: '7.250', dur: 1.5 },
  { ph: 's', cat: 'async_npu', name: 'torch_to_npu', id: 1, pid: 1, tid: 1, ts: '6.000' },
];
const MTIA = [
  label(17, 'MTIA 17'),
  span('mtia_ccp_events', 'fc', { pid: 17 }),
  span('mtia_runtime', 'launch'),
];

describe('the device of a trace', () => {
  it.each<[string, DeviceKind, readonly Event[], Event]>([
    ['calls of CUDA', 'cuda', [span('cuda_runtime', 'cudaLaunchKernel')], {}],
    ['kernels without any call', 'cuda', [span('kernel', 'gemm', { pid: 0 })], {}],
    ['an NVIDIA GPU in the header', 'cuda', [], device('NVIDIA H200')],
    ['calls of HIP under the name of CUDA', 'rocm', [span('cuda_runtime', 'hipLaunchKernel')], {}],
    ['an AMD GPU in the header', 'rocm', [span('kernel', 'gemm', { pid: 0 })], device('AMD Instinct MI300X')],
    ['calls of XPU', 'xpu', [span('xpu_runtime', 'urEnqueueKernelLaunch')], {}],
    ['Ascend’s hardware', 'npu', ASCEND, {}],
    ['MTIA’s events', 'mtia', MTIA, device('ARTEMIS')],
    ['Gaudi in the header', 'hpu', [], device('HL-225')],
    ['operators of MPS', 'mps', [span('cpu_op', 'aten::_mps_convolution')], {}],
    ['operators of torch_xla', 'xla', [span('cpu_op', 'xla::mark_step')], {}],
    ['calls of a GPU that copies CUDA', 'unknown', [span('cuda_runtime', 'musaLaunchKernel')], {}],
    ['calls of another device', 'unknown', [span('privateuse1_runtime', 'launch')], {}],
    ['a process of another device', 'unknown', [label(9, 'TPX 0'), span('tpx_task', 'mm', { pid: 9 })], {}],
    ['the CPU alone', 'none', [label(1, 'CPU'), span('mystery', 'x')], {}],
  ])('%s: %s', (_, kind, events, header) => {
    expect(acceleratorOf(traceOf(events, header)).kind).toBe(kind);
  });

  it.each<[string, number, readonly Event[]]>([
    ['Ascend', 1, ASCEND],
    ['MTIA', 1, MTIA],
    ['MTIA after its processes were renamed, as merging does', 1, MTIA.slice(1)],
    [
      'a GPU with kernels and events of a new kind',
      0,
      [label(0, 'GPU 0'), span('kernel', 'k', { pid: 0 }), span('new', 'x', { pid: 0 })],
    ],
    [
      'ranges of an NVIDIA GPU instead of kernels',
      0,
      [
        label(0, 'GPU 0'),
        span('cuda_profiler_range', 'k', { pid: 0 }),
        span('cuda_runtime', 'cudaLaunchKernel'),
      ],
    ],
    ['a host with events of a new kind', 0, [label(1, 'CPU'), span('new', 'x')]],
  ])('%s: %i events that are not understood', (_, unread, events) => {
    expect(acceleratorOf(traceOf(events)).unread).toBe(unread);
  });
});

describe('checks of a trace fit its device', () => {
  const found = (events: readonly Event[], header: Event = {}) =>
    checkTrace(traceOf(events, header))
      .map((p) => `${p.code}: ${p.message}; ${p.consequence}`)
      .join('\n');

  it.each([
    ['Ascend', ASCEND, /unread-device: device events not understood.*an Ascend NPU.*MindStudio Insight/],
    ['MTIA', MTIA, /unread-device: device events not understood.*an MTIA accelerator/],
  ])('%s events are not understood, and no advice is about CUDA', (_, events, expected) => {
    expect(found(events)).toMatch(expected);
    expect(found(events)).not.toMatch(/CUDA|nsys|no-gpu-work/);
  });

  it('an XPU without its events is recorded with its own activity', () => {
    expect(found([span('xpu_runtime', 'urEnqueueKernelLaunch')])).toMatch(
      /no-gpu-work: .*record with ProfilerActivity\.CPU and ProfilerActivity\.XPU/,
    );
  });

  it('the note for an MPS job explains that torch.profiler does not record its GPU', () => {
    expect(found([span('cpu_op', 'aten::_mps_convolution')])).toMatch(/no-gpu-work: .*torch\.mps\.profiler/);
  });
});
