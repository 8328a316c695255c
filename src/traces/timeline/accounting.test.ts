import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import { lengthOf, unionOf } from '../../base/intervals.js';
import type { TimeByClass } from '../../facts/time-class.js';
import { classifyNames } from '../kernels/classify.js';
import { accountHostTime, accountParts, accountTime } from './accounting.js';
import { orderGpuWork } from './gpu-work.js';
import { findHostSpans } from './host-spans.js';

const inUs = (time: TimeByClass) =>
  Object.fromEntries(Object.entries(time).flatMap(([c, ns]) => (ns > 0 ? [[c, ns / 1000]] : [])));

/** Drawings begin at 0. Times in microseconds. */
function account(drawing: string, from: number, to: number) {
  const trace = drawTrace(drawing);
  const work = orderGpuWork(trace);
  const host = findHostSpans(trace, work);
  return accountTime(trace, work, classifyNames(trace), host, from * 1000, to * 1000);
}
const timeOf = (drawing: string, from = 0, to = 100) => inUs(account(drawing, from, to).total);

const NCCL = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL';
const H2D = 'Memcpy HtoD (Pageable -> Device)';
const D2H = 'Memcpy DtoH (Device -> Pinned)';

describe('busy time', () => {
  it('busy time is computing, then communication, then copying', () => {
    const drawing = `
      host 1  ProfilerStep#1 0-100
      gpu 7   gemm 0-40
      gpu 20  ${NCCL} 30-60
      gpu 9   ${H2D} 20-100`;
    expect(timeOf(drawing)).toEqual({ compute: 40, comms_transfer: 20, copy: 40 });
  });

  it('busy time is clipped at both ends of the window', () => {
    const drawing = 'host 1  ProfilerStep#1 0-100\ngpu 7  gemm 0-40 | gemm 40-100';
    expect(timeOf(drawing, 10, 50)).toEqual({ compute: 40 });
  });

  it('counts exposed copies by direction', () => {
    const drawing = `
      host 1  ProfilerStep#1 0-100
      gpu 7   gemm 10-100
      gpu 8   ${H2D} 0-20
      gpu 9   ${D2H} 4-50 | Memset (Device) 60-70`;
    const { copies, total } = account(drawing, 0, 100);
    expect(copies).toEqual({ toDevice: 10_000, toHost: 6_000 });
    expect(inUs(total)).toEqual({ compute: 90, copy: 10 });
  });

  it('counts fills of the runtime as copying', () => {
    expect(timeOf('host 1  ProfilerStep#1 0-100\ngpu 7  Memset (Device) 0-100')).toEqual({ copy: 100 });
  });
});

/** The device computes 0-10 and 90-100. The second kernel is launched at `launch`. */
const gapWith = (host: string, launch = 80) => `
  host 1  ProfilerStep#1 0-100 | cudaLaunchKernel 0-2 #1 | cudaLaunchKernel ${launch}-${launch + 2} #2
  ${host}
  gpu 7   gemm 0-10 #1 | gemm 90-100 #2`;

describe('idle time is blamed on what delayed the launch:', () => {
  it.each([
    ['input', 'idle_data', 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__ 10-70'],
    ['synchronizing', 'idle_sync', 'cudaStreamSynchronize 5-70'],
    ['compiling', 'idle_compile', 'PyCodeCache.load_by_key_path (dynamo_timed) 10-70'],
    ['loading code', 'idle_compile', 'cuModuleLoadData 10-70'],
    ['a barrier', 'idle_comms', 'c10d::barrier 10-70'],
  ])('idle time is blamed on %s', (_, blamed, span) => {
    expect(timeOf(gapWith(`host 1  ${span}`))).toEqual({ compute: 20, [blamed]: 60, idle_host: 20 });
  });

  it('gloo on a thread of its own', () => {
    expect(timeOf(gapWith('host 5  gloo:all_reduce 20-70'))).toEqual({
      compute: 20,
      idle_comms: 50,
      idle_host: 30,
    });
  });

  it('operators and Python between them', () => {
    expect(timeOf(gapWith('host 1  aten::linear 20-40'))).toEqual({ compute: 20, idle_host: 80 });
  });

  it('several, one after the other', () => {
    const host =
      'host 1  load_batch 15-30 | cudaDeviceSynchronize 30-40 | c10d::barrier 50-60 | triton_autotune 60-70';
    expect(timeOf(gapWith(host))).toEqual({
      compute: 20,
      idle_data: 15,
      idle_sync: 10,
      idle_comms: 10,
      idle_compile: 10,
      idle_host: 35,
    });
  });

  it('launch latency, not what the host does after the launch', () => {
    expect(timeOf(gapWith('host 1  load_batch 32-89', 30))).toEqual({ compute: 20, idle_host: 80 });
  });

  it('nothing, when the work was already queued', () => {
    expect(timeOf(gapWith('host 1  load_batch 12-89', 5))).toEqual({ compute: 20, idle_other: 80 });
  });

  it('what delayed the next work, not later work', () => {
    const drawing = `${gapWith('host 1  load_batch 12-60', 70)} | gemm 95-98 #1`;
    expect(timeOf(drawing)).toEqual({ compute: 20, idle_data: 48, idle_host: 32 });
  });

  it('the host, after the last work and before work without a launch', () => {
    const after = 'host 1  ProfilerStep#1 0-100 | load_batch 50-80\ngpu 7  gemm 0-40';
    expect(timeOf(after)).toEqual({ compute: 40, idle_data: 30, idle_host: 30 });
    expect(timeOf(`${after} | gemm 90-100`)).toEqual({ compute: 50, idle_data: 30, idle_host: 20 });
  });

  it('nothing outside the recorded host events', () => {
    const drawing = 'gpu 7  gemm 0-10 | gemm 95-100\nhost 1  aten::mm 20-30 | aten::mm 40-60';
    expect(timeOf(drawing)).toEqual({ compute: 15, idle_host: 40, idle_other: 45 });
    expect(timeOf('gpu 7  gemm 0-10 | gemm 20-30', 0, 50)).toMatchObject({ idle_other: 20 });
  });
});

describe('parts of the window', () => {
  it('divide each class', () => {
    const parts = accountParts(account(gapWith('host 1  load_batch 10-70'), 0, 100), [0, 5e3, 40e3, 100e3]);
    expect(parts.map(inUs)).toEqual([
      { compute: 5 },
      { compute: 5, idle_data: 30 },
      { compute: 10, idle_data: 30, idle_host: 20 },
    ]);
  });
});

describe('a job without GPU', () => {
  it('computes in its operators, except in waits', () => {
    const trace = drawTrace('host 1  ProfilerStep#1 0-100 | load_batch 10-40\nhost 5  gloo:all_reduce 80-90');
    const host = findHostSpans(trace, orderGpuWork(trace));
    const operators = unionOf([
      [30_000, 60_000],
      [70_000, 75_000],
    ]);
    const { total, spans } = accountHostTime(operators, host, 0, 100_000);
    expect(inUs(total)).toEqual({ compute: 25, idle_data: 30, comms_transfer: 10, idle_host: 35 });
    expect(Object.values(spans).reduce((ns, s) => ns + lengthOf(s), 0)).toBe(100_000);
  });
});
