import { describe, expect, it } from 'vitest';
import { collectivesOf } from '../../../test/helpers/collectives.js';
import { drawTrace } from '../../../test/helpers/draw-trace.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { unionOf } from '../../base/intervals.js';
import { COLLECTIVE_KINDS, type RankCollectives } from '../../facts/rank-collectives.js';
import { Trace } from '../../model/trace.js';

type Args = Record<string, unknown>;
const AR = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)';
const SENDRECV = 'ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)';

/** Events as the profiler writes them, times in µs. None begins at 0, which would be a fault (kineto#109). */
const kernel = (name: string, ts: number, dur: number, args: Args = {}, stream = 20) => ({
  ph: 'X',
  cat: 'kernel',
  name,
  pid: 0,
  tid: stream,
  ts: ts + 1000,
  dur,
  args: { device: 0, stream, ...args },
});
const host = (cat: string, name: string, ts: number, dur: number, args: Args = {}, tid = 1) => ({
  ph: 'X',
  cat,
  name,
  pid: 100,
  tid,
  ts: ts + 1000,
  dur,
  args,
});
const launch = (ts: number, correlation: number) =>
  host('cuda_runtime', 'cudaLaunchKernelExC', ts, 2, { correlation });
const record = (ts: number, dur: number, args: Args = {}, tid = 1) =>
  host('cpu_op', 'record_param_comms', ts, dur, args, tid);
const step = (n: number, ts: number, dur: number) => host('user_annotation', `ProfilerStep#${n}`, ts, dur);

function extract(events: readonly object[], header: Args = {}): RankCollectives {
  const text = JSON.stringify({ schemaVersion: 1, ...header, traceEvents: [step(7, 0, 1000), ...events] });
  return collectivesOf(new Trace(readTrace(text).trace))!;
}

const kindsOf = (c: RankCollectives) => Array.from(c.kind, (k) => COLLECTIVE_KINDS[k]);

const ARGS = {
  'Collective name': 'allreduce',
  dtype: 'Float',
  'In msg nelems': 1000,
  'Out msg nelems': 1000,
  'Group size': 2,
  'Process Group Name': '3',
  'Process Group Description': 'dp',
  'Process Group Ranks': '[0, 4]',
  Seq: 17,
};

describe('kernels with arguments', () => {
  const c = extract([kernel(AR, 10, 20, ARGS), kernel('gemm', 25, 100, {}, 7)]);

  it('tell everything about the collective', () => {
    expect(kindsOf(c)).toEqual(['all_reduce']);
    expect([...c.sequence, ...c.bytes, c.dtypes[c.dtype[0]!], ...c.onDevice]).toEqual([17, 4000, 'Float', 1]);
    expect(c.groups).toEqual([
      { key: 'ranks 0,4', name: '3', description: 'dp', size: 2, ranks: [0, 4], named: true },
    ]);
  });

  it('kernels with arguments are exposed where nothing computes', () => {
    expect([c.end[0]! - c.start[0]!, c.exposed[0]]).toEqual([20_000, 15_000]);
  });

  it('move between threads', () => {
    expect(structuredClone(c)).toEqual(c);
  });

  it('name the other side: peers of sends, roots of broadcasts', () => {
    const args = (more: Args) => ({ ...ARGS, ...more });
    const { peer } = extract([
      kernel(SENDRECV, 10, 5, args({ 'Collective name': 'send', Rank: 1, 'Dst Rank': 4 })),
      kernel(SENDRECV, 20, 5, args({ 'Collective name': 'recv', Rank: 1 })),
      kernel('ncclDevKernel_Broadcast', 30, 5, args({ 'Collective name': 'broadcast', Rank: 1 })),
      kernel(AR, 40, 5, args({ Rank: 1 })),
    ]);
    expect([...peer]).toEqual([4, 4, 4, -1]);
  });

  it('kernels with arguments have times from 1970 on', () => {
    const base = extract([kernel(AR, 10, 20, ARGS)], { baseTimeNanoseconds: 1790857026000000000 });
    expect(base.baseNs + BigInt(base.start[0]!)).toBe(1790857026001010000n);
  });
});

describe('kernels without arguments', () => {
  it('take them from the record around their launch', () => {
    const c = extract([record(5, 20, ARGS), launch(10, 1), kernel(AR, 30, 20, { correlation: 1 })]);
    expect([kindsOf(c)[0], c.sequence[0], c.bytes[0], c.groups[0]!.key, c.step[0]]).toEqual([
      ...['all_reduce', 17, 4000, 'ranks 0,4', 0],
    ]);
  });

  it('or from the record with their External id when the launch is missing', () => {
    const c = extract([
      record(5, 20, { ...ARGS, 'External id': 9 }),
      kernel(AR, 30, 20, { correlation: 1, 'External id': 9 }),
    ]);
    expect(c.sequence[0]).toBe(17);
  });

  it('kernels without arguments have the kind of the call: here SendRecv is an all-to-all', () => {
    const shape = { 'Input Dims': [[8, 1024]], 'Input type': ['float'] };
    const c = extract([
      record(5, 20),
      host('user_annotation', 'nccl:all_to_all', 6, 10, shape),
      launch(10, 1),
      kernel('ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)', 30, 20, {
        correlation: 1,
        'External id': 1,
      }),
    ]);
    expect([kindsOf(c)[0], c.bytes[0], c.groups[0]!.key]).toEqual([
      ...['all_to_all', 32_768, 'unnamed stream 20'],
    ]);
  });

  it('belong to the only group when there is one', () => {
    const config = [{ pg_name: '0', pg_desc: 'default_pg', pg_size: 2, ranks: [0, 1] }];
    const c = extract([kernel(AR, 30, 20)], {
      distributedInfo: { rank: 0, world_size: 2, pg_config: config },
    });
    expect(c.groups.map((g) => [g.key, g.named])).toEqual([['ranks 0,1', true]]);
  });
});

describe('one collective counts once', () => {
  it('a collective with several kernels of one record counts once', () => {
    const c = extract([
      record(5, 20, { ...ARGS, 'Collective name': 'allreduce_coalesced' }),
      ...[launch(8, 1), launch(12, 2), kernel(AR, 30, 20, { correlation: 1 })],
      kernel(AR, 60, 20, { correlation: 2 }),
    ]);
    expect([c.length, c.start[0], c.end[0], c.exposed[0]]).toEqual([1, 30_000, 80_000, 40_000]);
  });

  it('a collective with several kernels of one External id counts once', () => {
    const args = { ...ARGS, 'External id': 5 };
    expect(extract([kernel(AR, 30, 20, args), kernel(AR, 60, 20, args)]).length).toBe(1);
  });

  it('each kernel of a CUDA graph counts as a collective', () => {
    const graph = { correlation: 1, 'External id': 5, 'graph id': 1 };
    expect(extract([launch(5, 1), kernel(AR, 30, 20, graph), kernel(AR, 60, 20, graph)]).length).toBe(2);
  });
});

describe('groups', () => {
  const of = (args: Args, header: Args = {}) => extract([kernel(AR, 10, 5, args)], header).groups[0]!;
  const bare = { ...ARGS, 'Process Group Ranks': '', 'Group size': 4 };

  it('take their members from pg_config when the list was shortened', () => {
    const members = Array.from({ length: 64 }, (_, i) => i * 2);
    const header = { distributedInfo: { rank: 0, pg_config: [{ pg_name: '3', ranks: members }] } };
    const group = of({ ...ARGS, 'Process Group Ranks': '[0, 2, ..., 126]', 'Group size': 64 }, header);
    expect([group.key, group.ranks]).toEqual(['ranks 0-126:2', members]);
  });

  it('else from start and stride', () => {
    expect(of({ ...bare, 'Global rank start': 1, 'Global rank stride': 8 }).ranks).toEqual([1, 9, 17, 25]);
  });

  it('else all ranks, when the sizes are equal', () => {
    expect(of(bare, { distributedInfo: { rank: 0, world_size: 4 } }).ranks).toEqual([0, 1, 2, 3]);
  });

  it('else have no members and are identified by name', () => {
    expect(of(bare)).toMatchObject({ key: 'name 3 dp of 4', size: 4, ranks: null });
  });
});

describe('collectives on the host', () => {
  const gloo = (ts: number, dur: number, tid: number) =>
    host('user_annotation', 'gloo:all_reduce', ts, dur, {}, tid);

  it('collectives on the host are spans of threads, with the arguments of the calling records', () => {
    const other = { ...ARGS, Seq: 18, 'In msg nelems': 5 };
    const c = extract([
      ...[
        record(5, 10, ARGS),
        record(6, 5, ARGS),
        record(30, 10, other),
        record(42, 2, { ...ARGS, 'Collective name': 'wait' }),
      ],
      ...[gloo(8, 50, 50), gloo(33, 40, 51)],
      ...[kernel('gemm', 20, 30, {}, 7)],
    ]);
    expect([...c.sequence]).toEqual([17, 18]);
    expect([...c.bytes]).toEqual([4000, 20]);
    expect([...c.onDevice]).toEqual([0, 0]);
    expect([...c.step]).toEqual([0, 0]);
    // 8–58 without 20–50, and half of 50–58, in which both run; the other half and 58–73.
    expect([...c.exposed]).toEqual([16_000, 19_000]);
  });

  it('begin when the device has made what they send, in the order of the calls', () => {
    const sync = (ts: number, dur: number, tid: number) =>
      host('cuda_runtime', 'cudaStreamSynchronize', ts, dur, {}, tid);
    const c = extract([
      // Two tensors; the third wait comes after the transfer.
      ...[gloo(8, 2000, 50), sync(10, 200, 50), sync(212, 100, 50), sync(1900, 50, 50)],
      // Woken before the first, though called later.
      ...[gloo(9, 2100, 51), sync(11, 299, 51)],
      // Nothing to wait for. A wait that begins before the span or ends after it is another's.
      ...[gloo(3000, 500, 50), sync(2995, 100, 50), gloo(4000, 100, 51), sync(4001, 300, 51)],
      ...[sync(5, 5000, 1), kernel('gemm', 20, 30, {}, 7)],
    ]);
    expect([...c.start]).toEqual([312_000, 312_000, 3_000_000, 4_000_000]);
    expect([...c.end]).toEqual([2_008_000, 2_109_000, 3_500_000, 4_100_000]);
  });

  it('collectives on the host are exposed where the training threads were blocked, without a device', () => {
    const trace = drawTrace('host 1  ProfilerStep#1 0-100 | aten::mm 10-20\nhost 50  gloo:all_reduce 30-80');
    const blocking = unionOf([[40_000, 60_000]]);
    expect(collectivesOf(trace, { blocking })!.exposed[0]).toBe(20_000);
  });
});

describe('the result', () => {
  it('a trace without collectives has no result', () => {
    expect(collectivesOf(drawTrace('host 1  ProfilerStep#1 0-100\ngpu 7  gemm 0-10'))).toBeNull();
  });

  it('a trace with too many collectives keeps the first ones', () => {
    const trace = drawTrace(`host 1  ProfilerStep#1 0-100\ngpu 7  ${AR} 0-1 x10@5`);
    const c = collectivesOf(trace, { cap: 4 })!;
    expect([c.length, c.leftOut, c.start[3]]).toEqual([4, 6, 15_000]);
  });

  it('a collective belongs to the step that launched it', () => {
    const trace = drawTrace(`
      host 1  ProfilerStep#4 0-100 | ProfilerStep#5 100-200 | cudaLaunchKernel 90-92 #1 | cudaLaunchKernel 110-112 #2
      gpu 20  ${AR} 150-160 #1 | ${AR} 160-170 #2`);
    const c = collectivesOf(trace)!;
    expect([[...c.step], c.steps, c.numbered]).toEqual([[0, 1], [4, 5], true]);
  });
});
