import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parquetOf, SLOW_WORKER } from '../../test/helpers/operations-file.js';
import { describeWithShared, SHARED } from '../../test/helpers/shared.js';
import { read } from '../readers/operations/testing.js';
import { whatIf } from './what-if.js';

/** Tables of two real jobs with the results of StragglerAnalysis on them. */
const PEERS = join(SHARED, 'peers/straggler');

interface Shares {
  readonly tori: number;
  readonly tideal: number;
  readonly trem: number;
  readonly rem: number;
}
type ByName = Readonly<Record<string, number>>;
type Result = Readonly<
  Record<
    | 'step_t_base'
    | 'step_t_nodelay'
    | 'step_t_noblk'
    | 'blocking_decompose_by_optype'
    | 'blocking_decompose_by_stage'
    | 'blocking_decompose_by_dp_rank',
    ByName
  >
>;
const json = <T>(name: string) => JSON.parse(readFileSync(join(PEERS, `${name}.json`), 'utf8')) as T;

/** They keep times as 32-bit floats, which are exact to about 1e-7. */
const near = (ours: number | null, theirs: number) =>
  expect(Math.abs(ours! - theirs), `${ours} and ${theirs}`).toBeLessThan(
    1e-5 * Math.max(1, Math.abs(theirs)),
  );

const JOBS = [
  // One slow worker.
  [
    'AR',
    { actual: 46.336, ideal: 23.485, share: 'm_w', of: 1.0017, slowest: { dpRank: 0, stage: 0, rank: 0 } },
  ],
  // A slow last stage.
  [
    'ST',
    { actual: 2.1727, ideal: 1.8433, share: 'm_s', of: 1.2194, slowest: { dpRank: 1, stage: 3, rank: 7 } },
  ],
] as const;

describeWithShared('peers/straggler', 'jobs of StragglerAnalysis', () => {
  it.each(JOBS)('%s: equals the paper, and every figure of its files', (name, expected) => {
    const { table, problems } = read(readFileSync(join(PEERS, `trace-${name}.parquet`)));
    expect(problems).toEqual([]);
    const answer = whatIf(table);
    expect(answer.problems).toEqual([]);
    const result = answer.whatIf!;
    const within = (value: number, of: number) => expect(Math.abs(value / of - 1)).toBeLessThan(0.005);
    within(result.actual_s, expected.actual);
    within(result.ideal_s, expected.ideal);
    within(result[expected.share]!, expected.of);
    expect(result.slowestWorkers).toMatchObject([expected.slowest]);

    const workers = json<Shares>(`mw-${name}`);
    const stage = json<Shares>(`ms-${name}`);
    near(result.actual_s, workers.tori);
    near(result.ideal_s, workers.tideal);
    near(result.withoutSlowestWorkers_s, workers.trem);
    near(result.m_w, workers.rem);
    near(result.withoutLastStage_s, stage.trem);
    near(result.m_s, stage.rem);

    const theirs = json<Result>(`result-${name}`);
    expect(result.perStep.length).toBe(Object.keys(theirs.step_t_base).length);
    for (const { step, recorded_s, actual_s, ideal_s } of result.perStep) {
      near(recorded_s, theirs.step_t_base[step]!);
      near(actual_s, theirs.step_t_nodelay[step]!);
      near(ideal_s, theirs.step_t_noblk[step]!);
    }
    for (const [ours, by] of [
      [result.byKind, theirs.blocking_decompose_by_optype],
      [result.byStage, theirs.blocking_decompose_by_stage],
      [result.byDpRank, theirs.blocking_decompose_by_dp_rank],
    ] as const) {
      expect(ours.length).toBe(Object.keys(by).length);
      for (const { of, slowdown } of ours) near(slowdown, by[of]!);
    }
  });
});

describe('a job of our own, in a file as theirs are', () => {
  it('is read and replayed to figures worked out by hand', () => {
    const { table, problems } = read(parquetOf(SLOW_WORKER));
    expect(problems).toEqual([]);
    const result = whatIf(table).whatIf!;
    expect(result).toMatchObject({
      actual_s: 23,
      ideal_s: 15.5,
      withoutSlowestWorkers_s: 14,
      withoutLastStage_s: 14,
      slowestWorkers: [{ dpRank: 1, stage: 1, rank: 3 }],
    });
    expect(result.m_w).toBeCloseTo((23 - 14) / (23 - 15.5), 12);
    expect(result.perStep.map((s) => [s.step, s.recorded_s, s.actual_s, s.ideal_s])).toEqual([
      [10, 23, 23, 15.5],
      [11, 23, 23, 15.5],
    ]);
  });
});
