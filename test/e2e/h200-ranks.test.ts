import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { root } from '../helpers/cli.js';

/**
 * Four ranks on an H200 (zoo/ranks), each timed with and without its fault: which rank is late, why, and what fixing it saves.
 * The ranks share the GPU: one that computes more also slows the others' kernels, which is not counted as its lateness.
 */
const CASES: Readonly<Record<string, { pattern: string; within: number }>> = {
  gpu_buckets: { pattern: 'persistent', within: 0.3 },
  batch_4x: { pattern: 'persistent', within: 0.4 },
  data_rank: { pattern: 'persistent', within: 0.2 },
  host_forward: { pattern: 'persistent', within: 0.2 },
  h2d_rank: { pattern: 'persistent', within: 0.2 },
  two_late: { pattern: 'persistent', within: 0.2 },
  host_every4: { pattern: 'periodic', within: 0.2 },
  rotating: { pattern: 'rotating', within: 0.3 },
};
interface Truth {
  readonly late: readonly number[];
  readonly cause: string;
  readonly healthy_ms: number;
  readonly faulty_ms: number;
}

const folder = (...parts: readonly string[]) => join(root, 'zoo/ranks', ...parts);
const truthOf = (name: string) => JSON.parse(readFileSync(folder(name, 'truth.json'), 'utf8')) as Truth;
const told = (...parts: readonly string[]) =>
  diagnose([folder(...parts)], { steps: null, ranks: null, jobs: 1 });
const RECORDINGS = Object.keys(CASES).flatMap((name) =>
  ['log', 'trace'].filter((kind) => existsSync(folder(name, kind))).map((kind) => [name, kind] as const),
);

it.each(RECORDINGS)('%s, from its %s', async (name, kind) => {
  const truth = truthOf(name);
  const { stragglers, verdict } = await told(name, kind);
  expect(stragglers).toMatchObject([
    { ranks: truth.late, cause: truth.cause, pattern: CASES[name]!.pattern },
  ]);
  const cost = truth.faulty_ms - truth.healthy_ms;
  expect(Math.abs(stragglers[0]!.cost_ms / cost - 1)).toBeLessThan(CASES[name]!.within);
  expect(verdict.bottleneck).not.toBe('unknown');
});

it('healthy_buckets: no rank is late', async () => {
  expect((await told('healthy_buckets', 'log')).stragglers).toEqual([]);
});

it('gpu_backward: a delay hidden behind a collective is not counted as a cost', async () => {
  const { stragglers, verdict } = await told('gpu_backward', 'log');
  expect(verdict.bottleneck).toBe('comms');
  // Rank 2 computes for 15 ms more than the others. Without that the step of 21.5 ms is 1.4 ms shorter.
  for (const { ranks, cost_ms } of stragglers) {
    expect(ranks).toEqual([2]);
    expect(cost_ms).toBeLessThan(4);
  }
});
