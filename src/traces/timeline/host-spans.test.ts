import { describe, expect, it } from 'vitest';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import type { Spans } from '../../base/intervals.js';
import { orderGpuWork } from './gpu-work.js';
import {
  COLLECTIVE_SPAN,
  COMPILE_SPAN,
  DATA_SPAN,
  findHostSpans,
  SYNC_SPAN,
  withInferredInput,
} from './host-spans.js';

/** Times in microseconds. Drawings begin at 0. */
const inUs = (spans: Spans) =>
  Array.from({ length: spans.length }, (_, i) => [spans.start[i]! / 1000, spans.end[i]! / 1000]);

function spansOf(drawing: string) {
  const trace = drawTrace(drawing);
  const host = findHostSpans(trace, orderGpuWork(trace));
  const { data, compile, comms, sync } = host.waits;
  return {
    host,
    threads: host.threads.map((t) => Number(trace.data.tracks[t]!.tid)),
    waits: { data: inUs(data), compile: inUs(compile), comms: inUs(comms), sync: inUs(sync) },
    ofKind: (kind: number) => host.ofKind(kind).map((s) => [s.start / 1000, s.end / 1000]),
    restarts: host.restarts.map((r) => [r.start / 1000, r.end / 1000]),
  };
}

const SINGLE = 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__';
const WORKERS = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__';
/** Launches of a thread, one every 2 µs, with their work on a stream. */
const launches = (thread: number, stream: number, from: number, count: number, id: number) => {
  const list = (span: (i: number) => string) => Array.from({ length: count }, (_, i) => span(i)).join(' | ');
  return `
    host ${thread}  ${list((i) => `cudaLaunchKernel ${from + i * 2}-${from + i * 2 + 1} #${id + i}`)}
    gpu ${stream}   ${list((i) => `k ${from + i * 2 + 1}-${from + i * 2 + 2} #${id + i}`)}`;
};

describe('training threads', () => {
  it('the training threads are the one with the steps, then those with a sizable share of the launches', () => {
    const drawing = `host 3  ProfilerStep#1 0-1000 ${launches(5, 7, 10, 30, 1)} ${launches(9, 8, 20, 1, 90)}`;
    expect(spansOf(drawing).threads).toEqual([3, 5]);
  });

  it('begin with the one with most launches when there are no steps', () => {
    const drawing = `host 3  aten::mm 0-1000 ${launches(4, 8, 20, 5, 90)} ${launches(5, 7, 40, 30, 1)}`;
    expect(spansOf(drawing).threads).toEqual([5, 4]);
  });

  it('the training thread is the one with most operators when nothing is launched', () => {
    expect(spansOf('host 3  aten::mm 0-10\nhost 4  aten::mm 0-5 | aten::mm 5-9').threads).toEqual([4]);
  });

  it('there are no training threads without host events', () => {
    const { host, threads } = spansOf('gpu 7  k 0-8 #1 | k 30-38 #2');
    expect(threads).toEqual([]);
    expect([host.main, host.from, host.to]).toEqual([-1, 0, 38_000]);
  });
});

describe('waits', () => {
  it('take the outermost span of a kind, on training threads only', () => {
    const { ofKind, host } = spansOf(`
      host 1  ProfilerStep#1 0-100 | ${SINGLE} 10-40 | torch/utils/data/dataloader.py(630): __next__ 11-39
      host 1  ${WORKERS} 50-60
      host 2  ${SINGLE} 70-90`);
    expect(ofKind(DATA_SPAN)).toEqual([
      [10, 40],
      [50, 60],
    ]);
    expect(host.loaders).toEqual({ inMain: 1, inWorkers: 1 });
  });

  it('do not overlap: input, then compiling, collectives, synchronizing', () => {
    const { waits } = spansOf(`
      host 1  ProfilerStep#1 0-200 | ${SINGLE} 10-40 | _compile.compile_inner (dynamo_timed) 30-80
      host 1  c10d::barrier 70-120 | cudaDeviceSynchronize 110-150`);
    expect(waits).toEqual({ data: [[10, 40]], compile: [[40, 80]], comms: [[80, 120]], sync: [[120, 150]] });
  });

  it('include gloo on its own threads where the training thread records nothing', () => {
    const { ofKind, waits } = spansOf(
      'host 1  ProfilerStep#1 0-100 | aten::mm 0-20\nhost 7  gloo:all_reduce 30-70',
    );
    expect(ofKind(COLLECTIVE_SPAN)).toEqual([[30, 70]]);
    expect(waits.comms).toEqual([[30, 70]]);
  });

  it.each([
    ['cudaStreamSynchronize', SYNC_SPAN],
    ['hipMemcpyWithStream', SYNC_SPAN],
    ['cuModuleLoadData', COMPILE_SPAN],
    ['load_batch', DATA_SPAN],
    ['torch/utils/data/dataloader.py(480): __iter__', DATA_SPAN],
  ])('know %s', (name, kind) => {
    expect(spansOf(`host 1  ProfilerStep#1 0-100 | ${name} 10-20`).ofKind(kind)).toEqual([[10, 20]]);
  });

  it('do not include launches and copies that return at once', () => {
    const { ofKind } = spansOf(
      'host 1  ProfilerStep#1 0-100 | cudaMemcpyAsync 10-20 #1 | cudaEventQuery 20-30',
    );
    expect(ofKind(SYNC_SPAN)).toEqual([]);
  });

  it('include inferred input', () => {
    const { host } = spansOf('host 1  ProfilerStep#1 0-200 | cudaDeviceSynchronize 20-60');
    const { waits } = withInferredInput(host, {
      start: Float64Array.of(0),
      end: Float64Array.of(30_000),
      length: 1,
    });
    expect([inUs(waits.data), inUs(waits.sync)]).toEqual([[[0, 30]], [[30, 60]]]);
  });
});

describe('restarts of a loader', () => {
  it('two requests without a launch in between are a restart of the loader', () => {
    const { restarts, waits } = spansOf(`
      host 1  ProfilerStep#1 0-200 | ${WORKERS} 10-12 | cudaLaunchKernel 20-22 #1 | ${WORKERS} 40-41
      host 1  ${WORKERS} 90-100 | cudaLaunchKernel 110-112 #2
      gpu 7   k 25-30 #1 | k 115-120 #2`);
    expect(restarts).toEqual([[40, 90]]);
    expect(waits.data).toEqual([
      [10, 12],
      [40, 100],
    ]);
  });

  it('there is no restart of a loader where a launch follows every request', () => {
    const { restarts } = spansOf(`
      host 1  ProfilerStep#1 0-200 | ${WORKERS} 10-12 | cudaLaunchKernel 20-22 #1 | ${WORKERS} 40-41
      host 1  cudaLaunchKernel 50-52 #2 | ${WORKERS} 90-100 | cudaLaunchKernel 110-112 #3
      gpu 7   k 25-30 #1 | k 55-60 #2 | k 115-120 #3`);
    expect(restarts).toEqual([]);
  });

  it('cannot be found without GPU work', () => {
    expect(spansOf(`host 1  ${SINGLE} 0-2 | aten::mm 3-9 | ${SINGLE} 10-12`).restarts).toEqual([]);
  });
});
