/** Small, complete files of a run of two ranks, as objects: for tests that change single values in them. */
export type Doc = Readonly<Record<string, unknown>>;

const span = (cat: string, name: string, ts: number, dur: number, args: Doc = {}, track = [100, 1]) => ({
  ph: 'X',
  cat,
  name,
  pid: track[0],
  tid: track[1],
  ts,
  dur,
  args,
});

/** Four steps with input, kernels, a collective, a copy and a synchronization. */
export function goodTrace(rank: number): Doc {
  const traceEvents: Doc[] = [];
  let at = 1e6;
  let id = 1;
  const launch = (call: string, work: Doc) => {
    traceEvents.push(span('cuda_runtime', call, at, 1, { correlation: id, 'External id': id }), work);
    id++;
  };
  const kernel = (name: string, dur: number, stream: number, args: Doc) =>
    span('kernel', name, at + 2, dur, { correlation: id, device: 0, stream, ...args }, [0, stream]);
  const collective = {
    'Collective name': 'allreduce',
    dtype: 'Float',
    'In msg nelems': 1000,
    'Group size': 2,
  };
  const group = {
    'Process Group Name': '0',
    'Process Group Description': 'default_pg',
    'Process Group Ranks': '[0, 1]',
  };
  for (let step = 0; step < 4; step++) {
    const start = at;
    traceEvents.push(
      span('user_annotation', 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', at, 20),
    );
    at += 21;
    for (let i = 0; i < 8; i++) {
      traceEvents.push(
        span('cpu_op', 'aten::mm', at, 4, {
          'External id': id,
          'Input Dims': [[8, 8]],
          'Sequence number': id,
        }),
      );
      launch(
        'cudaLaunchKernel',
        kernel('ampere_sgemm_128x64_tn', 3, 7, { grid: [1, 1, 1], 'registers per thread': 32 }),
      );
      at += 5;
    }
    const numbers = { Seq: step, 'Global rank start': 0, 'Global rank stride': 1 };
    launch(
      'cudaLaunchKernel',
      kernel('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 6 + rank, 20, {
        ...collective,
        ...group,
        ...numbers,
      }),
    );
    at += 12;
    const copy = { correlation: id, device: 0, stream: 7, bytes: 1e6 };
    launch(
      'cudaMemcpyAsync',
      span('gpu_memcpy', 'Memcpy HtoD (Pageable -> Device)', at + 2, 3, copy, [0, 7]),
    );
    traceEvents.push(span('cuda_runtime', 'cudaDeviceSynchronize', at + 1, 5, { correlation: 10_000 + id }));
    at += 8;
    traceEvents.push(span('user_annotation', `ProfilerStep#${step + 3}`, start, at - start));
  }
  const device = {
    id: 0,
    name: 'NVIDIA H200',
    totalGlobalMem: 150e9,
    computeMajor: 9,
    computeMinor: 0,
    numSms: 132,
  };
  const config = {
    pg_name: '0',
    pg_desc: 'default_pg',
    backend_config: 'cuda:nccl',
    pg_size: 2,
    ranks: [0, 1],
  };
  return {
    schemaVersion: 1,
    deviceProperties: [device],
    distributedInfo: { backend: 'nccl', rank, world_size: 2, nccl_version: '2.20', pg_config: [config] },
    with_stack: 0,
    record_shapes: 1,
    baseTimeNanoseconds: 1_790_857_026,
    host_name: 'node',
    displayTimeUnit: 'ms',
    traceEvents,
    traceName: 'x.json',
  };
}

/** A header, then the records of twelve steps. */
export function goodLog(rank: number): readonly Doc[] {
  const anchors = [{ at: 'start', wall_ns: 1.79e18, monotonic_ns: 1 }];
  const records = Array.from({ length: 12 }, (_, step) =>
    ['data_wait', 'forward', 'backward', 'collective:all_reduce', 'optimizer'].map((name, i) => {
      const times = { duration_ms: 3 + rank, start_ms: step * 30 + i * 5, host_ms: 2, lag_ms: 1 };
      return { name, step, rank, ...times, clock: 'gpu', micro: 0, run: 'a' };
    }),
  );
  return [{ whyslow: 1, run: 'a', rank, world_size: 2, anchors }, ...records.flat()];
}

export function goodManifests(): { readonly run: Doc; readonly rank: Doc } {
  const device = {
    type: 'cuda',
    index: 0,
    name: 'H200',
    uuid: 'GPU-12345678',
    pci_bus_id: 5,
    pci_domain_id: 0,
  };
  const anchors = [{ at: 'start', wall_ns: 1.79e18, monotonic_ns: 1 }];
  return {
    run: {
      whyslow: 1,
      run: 'a',
      world_size: 2,
      mesh: { axes: ['dp', 'tp'], sizes: [1, 2] },
      started_ns: 1.79e18,
      versions: { torch: '2.13' },
      command: ['python', 'train.py'],
    },
    rank: {
      whyslow: 1,
      run: 'a',
      rank: 0,
      local_rank: 0,
      host: 'node',
      pid: 5,
      device,
      coordinates: { dp: 0, tp: 0 },
      anchors,
      dropped: { records: 0 },
    },
  };
}
