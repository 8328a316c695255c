import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import { readCut } from '../../../test/helpers/readers.js';
import { findReader } from '../registry.js';
import { ncclRasReader } from './descriptor.js';

const rank = (number: number, counts: object) => ({
  rank: number,
  host: '10.0.0.1',
  pid: 100 + number,
  cuda_dev: number,
  nvml_dev: number,
  status: { init_state: 0, async_error: 0 },
  collective_counts: counts,
});
const STATUS = {
  nccl_version: '2.29.1',
  cuda_runtime_version: 13000,
  timestamp: '2025-12-19 13:06:53',
  communicators_count: 1,
  communicators: [
    {
      hash: '0xae94',
      secondary_hash: '0xb7:0xb8',
      size: 2,
      ranks_count: 1,
      missing_ranks_count: 1,
      ranks: [rank(0, { Broadcast: 1, AllReduce: 6 })],
      missing_ranks: [
        { rank: 1, host: '10.0.0.1', pid: 101, cuda_dev: 1, nvml_dev: 1, status: { considered_dead: true } },
      ],
    },
  ],
  ras: { collection_time_sec: 0, timeouts_count: 0 },
};
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value, null, 2));
const read = (bytes: Buffer, cuts: readonly number[] = []) => readCut(ncclRasReader, bytes, cuts);

it('NCCL’s RAS status gives what each rank launched, and who did not answer', () => {
  const bytes = bytesOf(STATUS);
  expect(findReader(bytes)).toBe(ncclRasReader);
  const { status, problems } = read(bytes);
  expect(problems).toEqual([]);
  expect(status).toEqual({
    at: '2025-12-19 13:06:53',
    communicators: [
      {
        hash: '0xae94 0xb7:0xb8',
        size: 2,
        ranks: [
          {
            rank: 0,
            host: '10.0.0.1',
            pid: 100,
            device: 0,
            launched: { Broadcast: 1, AllReduce: 6 },
            isDead: false,
          },
          { rank: 1, host: '10.0.0.1', pid: 101, device: 1, launched: null, isDead: true },
        ],
      },
    ],
  });
  for (let cut = 1; cut < bytes.length; cut += 31) expect(read(bytes, [cut]).status).toEqual(status);
});

it('a RAS status that is cut short is a problem, and one with anything in it never throws', () => {
  const bytes = bytesOf(STATUS);
  expect(read(bytes.subarray(0, 300)).problems.map((p) => p.code)).toEqual(['broken-dump']);
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (ranks, counts) => {
      const one = { hash: counts, size: ranks, ranks, missing_ranks: [rank(1, counts as object), ranks] };
      read(bytesOf({ nccl_version: ranks, timestamp: counts, communicators: [one, ranks] }));
      read(bytesOf({ nccl_version: '2', communicators: ranks }));
    }),
    { numRuns: cases(200, 20_000) },
  );
});
