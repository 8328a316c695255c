import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeWithShared, SHARED } from '../../test/helpers/shared.js';
import type { OperationTable } from '../model/operation-table.js';
import { drawParquet, read } from '../readers/operations/testing.js';
import { KIND, type Kind } from './kinds.js';
import { drawJob } from './testing.js';
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

/** The table as StragglerAnalysis would store it. */
function parquetOf(table: OperationTable): Buffer {
  const ints = (name: string, values: ArrayLike<number>) =>
    ({ name, type: 'INT32', values: Array.from(values) }) as const;
  const kinds = Array.from(table.kind, (k) => table.kinds[k]!);
  return drawParquet({
    columns: [
      ints('dp_rank', table.dpRank),
      ints('stage', table.stage),
      ints('rank', table.rank),
      ints('step', table.step),
      { name: 'optype', type: 'TEXT', values: kinds, dictionary: true },
      { name: 'start_ts', type: 'DOUBLE', values: [...table.start] },
      { name: 'duration', type: 'DOUBLE', values: [...table.duration] },
      ints('seq_id', table.sequence),
    ],
  });
}

describe('a job of our own, drawn into a file as theirs are', () => {
  /** Two pipelines of two stages. Forward 1 s, backward 2 s, reducing 1 s, updating 1 s; one worker takes three times as long. */
  const seconds: Partial<Record<Kind, number>> = {
    [KIND.forward]: 1,
    [KIND.backward]: 2,
    [KIND.gradsReduceScatter]: 1,
    [KIND.optimizer]: 1,
  };
  const drawn = drawJob({
    dpRanks: 2,
    stages: 2,
    microbatches: 2,
    steps: [10, 11],
    time: (kind, { dpRank, stage }) => {
      const slow = dpRank === 1 && stage === 1 && (kind === KIND.forward || kind === KIND.backward);
      return (seconds[kind] ?? 0) * (slow ? 3 : 1);
    },
  });

  it('is read and replayed to figures worked out by hand', () => {
    const { table, problems } = read(parquetOf(drawn));
    expect(problems).toEqual([]);
    const result = whatIf(table).whatIf!;
    // The slow stage: F 1–4, B 4–10, F 10–13, B 13–19. The first: B 19–21. Reduced at 22, updated at 23.
    // With mean times (forward 1.5, backward 3): 13.5, and 2 more. The slow worker alone made ideal: 14.
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
