import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCut } from '../../../test/helpers/readers.js';
import { flightRecorderReader } from './descriptor.js';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../test/fixtures/flight-recorder/nccl_trace_rank_${name}`, import.meta.url));

function read(input: string | Uint8Array, cuts: readonly number[] = []) {
  const result = readCut(flightRecorderReader, input, cuts);
  return result;
}

describe('dumps of torch 2.13', () => {
  it('tell what was entered and what is done', () => {
    const { dump, problems } = read(fixture('0.json'), [10, 500]);
    expect(problems).toEqual([]);
    expect(dump!.calls.map((c) => [c.sequence, c.isDone])).toEqual([
      [1, true],
      [2, true],
      [3, true],
      [4, false],
    ]);
    expect(dump!.calls[3]).toMatchObject({
      group: '0',
      description: 'default_pg',
      name: 'all_reduce',
      sizes: '[[4]]',
      calledFrom: null,
    });
  });

  it('name groups, and the line of the job that called', () => {
    const frames = [
      {
        name: 'all_reduce',
        filename: '/venv/lib/python3.11/site-packages/torch/distributed/c10d.py',
        line: 1,
      },
      { name: 'step', filename: '/job/train.py', line: 12 },
    ];
    const entry = { collective_seq_id: 7, process_group: ['1', 'dp'], state: 'started', frames };
    const pg_config = { 1: { name: '1', desc: 'dp', ranks: '[0, 3]' } };
    const { dump } = read(
      JSON.stringify({ entries: [entry], pg_config, pg_status: { 4: { last_enqueued_collective: '9' } } }),
    );
    expect(dump!.groups).toEqual([{ name: '1', description: 'dp', ranks: [0, 3], entered: 9 }]);
    expect(dump!.calls).toMatchObject([
      { sequence: 7, isDone: false, calledFrom: '/job/train.py:12 in step' },
    ]);
  });

  it('are read as pickles too', () => {
    const [pickle, json] = [read(fixture('0.pickle'), [3, 99]), read(fixture('0.json'))];
    expect(pickle.problems).toEqual([]);
    expect(pickle.dump!.calls.map((c) => [c.sequence, c.isDone])).toEqual(
      json.dump!.calls.map((c) => [c.sequence, c.isDone]),
    );
  });

  it('are refused as pickles that are more than data', () => {
    const evil = Buffer.from('\x80\x04}\x8c\x09pg_configcos\nsystem\n(\x8c\x02lstRs.', 'latin1');
    expect(flightRecorderReader.sniff(evil)).toBe(true);
    expect(read(evil)).toMatchObject({ dump: null, problems: [{ code: 'pickle-code' }] });
  });

  it('show sends and receives, and calls that were grouped', () => {
    const grouped = [
      { p2p_seq_id: 3, is_p2p: true, process_group: ['2', 'pp'], profiling_name: 'nccl:send 0->3' },
      { p2p_seq_id: 3, is_p2p: true, process_group: ['2', 'pp'], profiling_name: 'nccl:recv 0<-1' },
      {
        p2p_seq_id: 3,
        is_p2p: true,
        process_group: ['2', 'pp'],
        profiling_name: 'nccl:coalesced',
        retired: true,
      },
      { p2p_seq_id: 4, is_p2p: true, process_group: ['2', 'pp'], profiling_name: 'nccl:send 0->3' },
    ];
    const { dump } = read(JSON.stringify({ entries: grouped, pg_config: {} }));
    expect(dump!.calls.map((c) => [c.name, c.peer, c.isDone])).toEqual([
      ['send', 3, true],
      ['recv', 1, true],
      ['coalesced', null, true],
      ['send', 3, false],
    ]);
  });

  it('count without a single call, and tell how far the rank got in each group', () => {
    const pg_config = {
      0: { name: '0', desc: 'default_pg', ranks: '[0, 1]' },
      35: { name: '35', ranks: '[0, 1]' },
    };
    const pg_status = { 0: { last_enqueued_collective: 4 }, 5: { last_enqueued_collective: 88 } };
    const text = JSON.stringify({ pg_config, pg_status, version: '2.9' });
    expect(flightRecorderReader.sniff(Buffer.from(text))).toBe(true);
    const result = read(text);
    expect(result.dump!.groups.map((g) => g.entered)).toEqual([4, 88]);
    expect(flightRecorderReader.digest(result, false)).toMatchObject({ events: 1 });
  });

  it('are recognized by their keys', () => {
    expect(flightRecorderReader.sniff(fixture('2.json'))).toBe(true);
    for (const other of [
      '{"traceEvents": []}',
      '{"entries": []}',
      '',
      '[{"entries": [], "pg_config": {}}]',
      '{"distributedInfo": {"pg_config": []}}',
    ])
      expect(flightRecorderReader.sniff(Buffer.from(other))).toBe(false);
  });

  it('never throw, whatever is in them', () => {
    const value = fc.oneof(fc.anything({ maxDepth: 2 }), fc.constant([{ toString: 1, valueOf: 1 }]));
    const entry = fc.record({
      collective_seq_id: value,
      process_group: value,
      state: value,
      frames: value,
      is_p2p: value,
    });
    const dump = fc.record({ entries: fc.oneof(value, fc.array(entry)), pg_config: value, pg_status: value });
    fc.assert(
      fc.property(dump, fc.nat(2000), (object, end) => {
        const text = JSON.stringify(object, (_, v) => (typeof v === 'bigint' ? String(v) : v));
        for (const c of read(text).dump?.calls ?? []) expect(c.sequence).toBeGreaterThanOrEqual(0);
        expect(read(fixture('0.json').subarray(0, end)).problems.map((p) => p.code)).toEqual(['broken-dump']);
      }),
      { numRuns: 100 },
    );
  });
});
