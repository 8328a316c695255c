import { type Clock, clockOf, shown } from './clock.js';
import type { Job } from './job.js';
import { hostOf } from './layout.js';
import type { Recording, Span } from './recording.js';

/** Kineto counts from a date in 2026; its timestamps are then this large. */
const BASE_TIME_NS = '1790857026000000000';
export const BASE_US = 3_847_000_000_000;
const AUTOGRAD_TID = 50;

const RUNTIME_CALLS: Readonly<Record<string, number>> = {
  cudaLaunchKernel: 211,
  cudaLaunchKernelExC: 430,
  cudaMemcpyAsync: 41,
  cudaPointerGetAttributes: 188,
  cudaStreamSynchronize: 131,
};
const SHAPE = ',"registers per thread":168,"shared memory":0,"grid":[132,1,1],"block":[384,1,1]';

/** A rank's recording as the profiler writes it. */
export function drawKineto(job: Job, rank: number, recording: Recording): string {
  const { settings } = job;
  const clock = clockOf(settings, rank);
  const device = rank % settings.ranksPerHost;
  const pid = 1000 + rank;
  const from = recording.spans[0]?.start ?? 0;
  let text = `${header(job, rank)}"traceEvents":[\n${names(pid, device, recording, time(clock, from))}`;
  for (const span of recording.spans) text += `,\n${drawSpan(span, clock, pid, device)}`;
  return `${text}\n]}\n`;
}

function header({ settings, layout }: Job, rank: number): string {
  const groups = layout.groups
    .filter((g) => g.ranks.includes(rank))
    .map((g) => ({
      pg_name: g.name,
      pg_desc: g.description,
      backend_config: 'cuda:nccl',
      pg_size: g.ranks.length,
      ranks: g.ranks,
    }));
  const fields = {
    schemaVersion: 1,
    deviceProperties: Array.from({ length: settings.ranksPerHost }, (_, id) => ({
      id,
      name: 'NVIDIA H200',
      totalGlobalMem: 150109880320,
      computeMajor: 9,
      computeMinor: 0,
      maxThreadsPerBlock: 1024,
      warpSize: 32,
      numSms: 132,
    })),
    host_name: `node-${hostOf(settings, rank)}`,
    distributedInfo: {
      backend: 'nccl',
      rank,
      world_size: settings.ranks,
      pg_count: groups.length,
      pg_config: groups,
      nccl_version: '2.27.3',
    },
    cuda_driver_version: 13000,
    cuda_runtime_version: 13000,
    displayTimeUnit: 'ms',
  };
  return `${JSON.stringify(fields).slice(0, -1)},"baseTimeNanoseconds":${BASE_TIME_NS},\n`;
}

function names(pid: number, device: number, { spans }: Recording, ts: string): string {
  const streams = [...new Set(spans.filter(isWork).map((s) => s.track))].sort((a, b) => a - b);
  const events: object[] = [
    metadata('process_name', pid, 0, 'python3'),
    metadata('thread_name', pid, pid, `thread ${pid} (python3)`),
    metadata('thread_name', pid, pid + AUTOGRAD_TID, `thread ${pid + AUTOGRAD_TID} (pt_autograd_${device})`),
    ...streams.map((s) => metadata('thread_name', device, s, `stream ${s} `)),
  ];
  return events.map((e) => `${JSON.stringify(e).slice(0, -1)},"ts":${ts}}`).join(',\n');
}

const metadata = (name: string, pid: number, tid: number, text: string) => ({
  ph: 'M',
  name,
  pid,
  tid,
  args: { name: text },
});

const isWork = (span: Span) => span.category === 'kernel' || span.category === 'gpu_memcpy';

function drawSpan(span: Span, clock: Clock, pid: number, device: number): string {
  const start = nanoseconds(clock, span.start);
  const length = nanoseconds(clock, span.end) - start;
  const onGpu = isWork(span);
  const place = onGpu ? `${device},"tid":${span.track}` : `${pid},"tid":${pid + span.track * AUTOGRAD_TID}`;
  const when = `"ts":${microseconds(start, BASE_US)},"dur":${microseconds(length, 0)}`;
  const what = `{"ph":"X","cat":"${span.category}","name":"${span.name}"`;
  return `${what},"pid":${place},${when},"args":{${argsOf(span, device)}}}`;
}

function argsOf(span: Span, device: number): string {
  const { external, correlation, args } = span;
  const id = `"External id":${external}`;
  if (correlation === 0) return `${id}${args}`;
  if (span.category === 'cuda_runtime')
    return `${id},"cbid":${RUNTIME_CALLS[span.name]},"correlation":${correlation}`;
  const place = `"device":${device},"context":1,"stream":${span.track},"correlation":${correlation}`;
  return `${id},${place}${span.category === 'kernel' ? SHAPE : ''}${args}`;
}

/** What the rank's clock shows, in whole ns as the profiler reads it. */
function nanoseconds(clock: Clock, us: number): number {
  return Math.round(shown(clock, us) * 1000);
}

function microseconds(ns: number, base: number): string {
  const whole = Math.floor(ns / 1000);
  const rest = ns - whole * 1000;
  return `${base + whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`;
}

const time = (clock: Clock, us: number) => microseconds(nanoseconds(clock, us), BASE_US);
