import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../test/helpers/cases.js';
import { collectivesOf } from '../../../test/helpers/collectives.js';
import { readTrace } from '../../../test/helpers/read-trace.js';
import { Trace } from '../../model/trace.js';
import { alignClocks } from '../../run/collectives/clocks.js';
import { matchCollectives } from '../../run/collectives/match.js';
import type { MatchInput } from '../../run/collectives/matched.js';
import { divideWaits } from '../../run/collectives/waits.js';

/** Arbitrary numbers and texts. */
const number = fc.oneof(fc.integer({ min: -3, max: 40 }), fc.constantFrom(1e300, -1, 2 ** 53, 0.5, 1e9));
const text = fc.constantFrom(
  '',
  '0',
  'dp',
  '[0, 1]',
  '[0, 1, ..., 99]',
  '[]',
  'allreduce',
  'send',
  'Float',
  '{',
);
const args = fc.record(
  {
    'Collective name': fc.constantFrom('allreduce', 'send', 'recv', 'wait', 'broadcast', 'coalesced', ''),
    dtype: text,
    'Process Group Name': text,
    'Process Group Description': text,
    'Process Group Ranks': text,
    'In msg nelems': number,
    'Out msg nelems': number,
    'Group size': number,
    Rank: number,
    'Src Rank': number,
    'Dst Rank': number,
    Seq: number,
    'Global rank start': number,
    'Global rank stride': number,
    'External id': fc.nat(6),
    correlation: fc.nat(6),
    stream: fc.nat(3),
    'Input Dims': fc.constantFrom([[4, 2]], [[[3]]], [], 7),
    'Input type': fc.constantFrom(['float'], [], 'float'),
  },
  { requiredKeys: [] },
);
const of = (cat: string, pid: number, ...names: string[]) =>
  fc.record({
    ph: fc.constant('X'),
    cat: fc.constant(cat),
    name: fc.constantFrom(...names),
    pid: fc.constant(pid),
    tid: fc.nat(2),
    ts: fc.integer({ min: 1, max: 200 }),
    dur: fc.nat(50),
    args,
  });
const event = fc.oneof(
  of('kernel', 0, 'ncclDevKernel_AllReduce_Sum', 'ncclDevKernel_SendRecv', 'gemm'),
  of('cuda_runtime', 100, 'cudaLaunchKernel'),
  of('cpu_op', 100, 'record_param_comms', 'c10d::allreduce_'),
  of('user_annotation', 100, 'nccl:all_to_all', 'gloo:all_reduce', 'ProfilerStep#1', 'ProfilerStep#2'),
);
const file = fc.array(event, { maxLength: 25 }).map((traceEvents) => JSON.stringify({ traceEvents }));

describe('any traces', () => {
  it('collectives of any traces are read, matched and divided without negative times', () => {
    fc.assert(
      fc.property(fc.array(file, { minLength: 1, maxLength: 3 }), (files) => {
        const ranks = files.flatMap((content, rank): MatchInput[] => {
          const collectives = collectivesOf(new Trace(readTrace(content, [1 << 20], 'js').trace));
          return collectives ? [{ rank, collectives }] : [];
        });
        for (const { collectives: c } of ranks) {
          for (let i = 0; i < c.length; i++) {
            expect(c.group[i]).toBeLessThan(c.groups.length);
            expect(c.step[i]).toBeLessThan(c.steps.length);
            expect(c.exposed[i]).toBeGreaterThanOrEqual(0);
            expect(c.exposed[i]).toBeLessThanOrEqual(c.end[i]! - c.start[i]!);
            expect(c.bytes[i]! < 0).toBe(false);
          }
          expect(structuredClone(c)).toEqual(c);
        }
        const matched = matchCollectives(ranks);
        const clocks = alignClocks(ranks, matched);
        for (const r of divideWaits(ranks, matched, clocks.contradicted).ranks) {
          expect(r.wait).toBeGreaterThanOrEqual(0);
          expect(r.exposedWait).toBeLessThanOrEqual(r.wait + 1e-6);
        }
      }),
      { numRuns: cases(200, 500) },
    );
  });
});
