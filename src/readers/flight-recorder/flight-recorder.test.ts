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
    expect(dump.collectives.map((c) => [c.sequence, c.isDone])).toEqual([
      [1, true],
      [2, true],
      [3, true],
      [4, false],
    ]);
    expect(dump.collectives[3]).toMatchObject({
      group: '0',
      description: 'default_pg',
      name: 'gloo:all_reduce',
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
      JSON.stringify({ entries: [entry, { is_p2p: true, collective_seq_id: 8 }], pg_config }),
    );
    expect(dump.groups).toEqual([{ name: '1', description: 'dp', ranks: [0, 3] }]);
    expect(dump.collectives).toMatchObject([
      { sequence: 7, isDone: false, hasStarted: true, calledFrom: '/job/train.py:12 in step' },
    ]);
  });

  it('are refused as pickles, with the line that converts them', () => {
    expect(flightRecorderReader.sniff(fixture('0.pickle'))).toBe(true);
    const { dump, problems } = read(fixture('0.pickle'));
    expect(dump.collectives).toEqual([]);
    expect(problems.map((p) => p.message)).toEqual([expect.stringMatching(/pickle.*python3 -c "/)]);
  });

  it('are recognized by their keys', () => {
    expect(flightRecorderReader.sniff(fixture('2.json'))).toBe(true);
    for (const other of ['{"traceEvents": []}', '{"entries": []}', '', '[{"entries": [], "pg_config": {}}]'])
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
        for (const c of read(text).dump.collectives) expect(c.sequence).toBeGreaterThanOrEqual(0);
        expect(read(fixture('0.json').subarray(0, end)).problems.map((p) => p.code)).toEqual(['broken-dump']);
      }),
      { numRuns: 100 },
    );
  });
});
