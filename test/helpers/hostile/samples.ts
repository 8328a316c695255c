import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { storeFacts } from './stored-facts.js';

const fixture = (path: string) => readFileSync(new URL(`../../fixtures/${path}`, import.meta.url));
const text = (path: string) => fixture(path).toString('utf8');
const json = (path: string): unknown => JSON.parse(text(path));
const lines = (path: string, most: number): unknown[] =>
  text(path)
    .split('\n')
    .slice(0, most)
    .map((line) => JSON.parse(line));

const PYTHON = [
  { name: 'forward', filename: '/job/model.py', line: 9 },
  { name: '_call_impl', filename: '/venv/torch/nn/modules/module.py', line: 1 },
];
const ENGINE = [
  {
    name: 'torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)',
    filename: '??',
    line: 0,
  },
  { name: 'torch::autograd::Engine::thread_main(...)', filename: '??', line: 0 },
];
const block = (address: number, size: number, state: string) => ({
  ...{ address, size, requested_size: size - 12, state, frames: PYTHON },
});
const memoryEvent = (action: string, addr: number, size: number, frames: unknown, time_us: number) => ({
  ...{ action, addr, size, frames, stream: 0, time_us },
});

/** A few steps on two GPUs, and an allocation that failed. */
export const MEMORY = {
  segments: [0, 1].map((device) => ({
    ...{ device, address: 4096, total_size: 2048, stream: 0, segment_type: 'large' },
    blocks: [block(4096, 512, 'active_allocated'), block(4608, 1536, 'inactive')],
  })),
  device_traces: [0, 1].map(() => [
    memoryEvent('segment_alloc', 4096, 2048, PYTHON, 1),
    ...[1, 2, 3].flatMap((step) => [
      memoryEvent('alloc', 4096, 400, PYTHON, step * 1e6),
      memoryEvent('alloc', 4608, 600, ENGINE, step * 1e6 + 50),
      memoryEvent('free_requested', 4608, 600, [], step * 1e6 + 90),
      memoryEvent('free_completed', 4608, 600, [], step * 1e6 + 91),
      memoryEvent('free_completed', 4096, 400, ENGINE, step * 1e6 + 99),
    ]),
    { ...memoryEvent('oom', 0, 1 << 30, PYTHON, 5e6), device_free: 4096 },
    memoryEvent('snapshot', 0, 0, [], 6e6),
  ]),
  allocator_settings: { PYTORCH_CUDA_ALLOC_CONF: '', expandable_segments: false, max_split_size: -1 },
};

/** Two groups, sends and receives, a call that has not ended. */
const rasRank = (rank: number, counts: object | null) => ({
  rank,
  host: '10.0.0.1',
  pid: 4000 + rank,
  cuda_dev: rank,
  nvml_dev: rank,
  status: counts ? { init_state: 0, async_error: 0 } : { unresponsive: true, considered_dead: false },
  ...(counts && { collective_counts: counts }),
});
export const RAS = {
  nccl_version: '2.29.1',
  cuda_runtime_version: 13000,
  timestamp: '2025-12-19 13:06:53',
  communicators_count: 2,
  communicators: [
    {
      hash: '0xae94',
      secondary_hash: '0xb7:0xb8',
      size: 3,
      ranks: [rasRank(0, { AllReduce: 6, AllGather: 1 }), rasRank(1, { AllReduce: 5, AllGather: 1 })],
      missing_ranks: [rasRank(2, null)],
    },
    { hash: '0xbe', size: 2, ranks: [rasRank(0, { AllReduce: 6 }), rasRank(1, { AllReduce: 4 })] },
  ],
  ras: { collection_time_sec: 0, timeouts_count: 0 },
};

const flightEntry = (id: number, more: object) => ({
  ...{
    record_id: id,
    pg_id: 0,
    process_group: ['0', 'default_pg'],
    collective_seq_id: id,
    p2p_seq_id: 0,
    op_id: id,
  },
  ...{ profiling_name: 'nccl:all_reduce', time_created_ns: 1.79e18 + id * 1e7, input_sizes: [[4, 8]] },
  ...{
    input_dtypes: ['Float'],
    output_sizes: [[4, 8]],
    output_dtypes: ['Float'],
    state: 'completed',
    retired: true,
  },
  ...{
    time_discovered_started_ns: 1.79e18 + id * 1e7 + 5,
    time_discovered_completed_ns: 1.79e18 + id * 1e7 + 900,
  },
  ...{
    timeout_ms: 600_000,
    is_p2p: false,
    duration_ms: 0.7,
    frames: PYTHON,
    thread_id: '140253',
    thread_name: 'python',
  },
  ...more,
});
export const FLIGHT = {
  version: '2.10',
  pg_config: {
    '0': { name: '0', desc: 'default_pg', ranks: '[0, 1, 2, 3]' },
    '1': { name: '1', desc: 'pp', ranks: '[0, 1]' },
  },
  pg_status: {
    '0': { last_enqueued_collective: 5, last_started_collective: 5, last_completed_collective: 4 },
    '1': { last_enqueued_collective: 2, last_started_collective: 1, last_completed_collective: 1 },
  },
  nccl_comm_state: {},
  entries: [
    ...[1, 2, 3, 4].map((id) => flightEntry(id, {})),
    flightEntry(5, { state: 'started', retired: false, time_discovered_completed_ns: null }),
    flightEntry(6, {
      profiling_name: 'nccl:send 0->1',
      is_p2p: true,
      p2p_seq_id: 1,
      process_group: ['1', 'pp'],
    }),
    flightEntry(7, { profiling_name: 'nccl:recv 0<-1', is_p2p: true, p2p_seq_id: 2, state: 'scheduled' }),
  ],
};

export const INCIDENT = {
  ...{
    schema: 'whyslow/incident/1',
    id: '1-0',
    run: 'r-1',
    kind: 'slower',
    state: 'open',
    alarm: true,
    step: 2000,
  },
  ...{
    time: '2026-11-15T10:00:00Z',
    detected_step: 2100,
    detected_time: '2026-11-15T10:01:00Z',
    until_step: 3000,
  },
  ...{ until_time: null, before_ms: 100, after_ms: 140, change: 0.4, ranks: [0], cause: 'loader', fix: null },
  ...{ sentence: 'Steps take 40% longer.', evidence: ['data loading'], rank_hours_per_hour: 0.3, traces: [] },
};

export const EXECUTION = {
  ...{ schema: '1.1.1-chakra.0.0.4', pid: 7, time: '2026-11-18 12:00:00', start_ts: 12 },
  nodes: [
    {
      id: 2,
      name: '[pytorch|profiler|execution_trace|thread]',
      ctrl_deps: 1,
      attrs: [{ name: 'rf_id', value: 0 }],
    },
  ],
};
const ROCM_CARD = {
  ...{
    'GPU use (%)': '97',
    'GPU memory use (%)': '41',
    'Temperature (Sensor edge) (C)': '40.0',
    'PCI Bus': '0000:C1:00.0',
  },
  ...{
    'Average Graphics Package Power (W)': '280.4',
    'sclk clock speed:': '(1700Mhz)',
    'Unique ID': '0x2150e7d042a1124',
  },
};
export const ROCM = [{ card0: ROCM_CARD, card1: ROCM_CARD, system: { 'Driver version': '6.3.6' } }];

const FRAMES = '  File "/job/train.py", line 42 in step\n  File "/job/train.py", line 55 in <module>\n';
export const TRACEBACKS = `=== Rank 0: http://vm:52165/handler/dump_traceback? ===
Current thread 0x00007f55fd433b80 [python] (most recent call first):
${FRAMES}
Thread 0x00007f55fd433b81 (most recent call first):
  <no Python frame>
=== Rank 1: http://vm:56011/handler/dump_traceback? ===
Error: 408
`;

export const SPEEDSCOPE = json('py-spy/busy.speedscope.json');
export const STACKS_JSON = json('py-spy/collective.json');
export const FLAME_GRAPH = text('py-spy/busy.svg');
export const RAW_STACKS = text('py-spy/workers.raw.txt');
export const DUMPED_STACKS = ['late', 'workers', 'collective']
  .map((name) => text(`py-spy/${name}.txt`))
  .join('');
export const TORCH_TRACE = text('torch-trace/rank_0.txt') + text('torch-trace/rank_1.txt').slice(0, 9000);
export const TORCH_LOG =
  text('torch-logs/recompiles.txt').slice(0, 9000) +
  text('torch-logs/graph-breaks.txt') +
  text('torch-logs/limit.txt');
export const PROC_SAMPLES = lines('triage/data_io_w0.jsonl', 8);
export const PFTRACE = gunzipSync(fixture('perfetto/h2d_pageable.pftrace.gz')).subarray(0, 60_000);
export const DATABASE = fixture('nsys/loop.sqlite');
/** As this version of whyslow writes them. */
export const FACTS = await storeFacts();
