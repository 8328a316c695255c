import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { mean } from '../../src/base/statistics.js';
import { playRun } from '../../src/run/paths/play.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';
import { StragglerJob } from '../helpers/straggler-job.js';
import { KIND, type Kind, type Operation } from '../helpers/straggler-programs.js';

/**
 * The replay of many ranks against "Understanding Stragglers in Large Model Training Using What-if Analysis" (Lin et al.,
 * OSDI 2025): tables of two public jobs with the results of the paper's own tool, StragglerAnalysis.
 */
const PEERS = join(SHARED, 'peers/straggler');
/** As in the paper: M_W is about the slowest 3% of workers. */
const SLOWEST_SHARE = 0.03;

/** Seconds per step. */
function whatIf(job: StragglerJob) {
  const steps = (isIdeal: (o: Operation) => boolean) => job.stepTimes(playRun(job.plan(isIdeal))!);
  const actual = steps(() => false);
  const ideal = mean(steps(() => true));
  /** Slowdown with these operations as recorded and all others ideal. */
  const only = (isRecorded: (o: Operation) => boolean) => mean(steps((o) => !isRecorded(o))) / ideal;
  const byStage = new Map(job.stages.map((stage) => [stage, only((o) => o.stage === stage)]));
  const byDpRank = new Map(job.dpRanks.map((dp) => [dp, only((o) => o.dpRank === dp)]));
  const kinds = [...new Set(job.operations.map((o) => shownAs(o.kind)))];
  const byKind = new Map(kinds.map((kind) => [kind, only((o) => shownAs(o.kind) === kind)]));
  // One slow worker makes both its data-parallel rank and its stage slow.
  const workers = [...new Map(job.operations.map((o) => [o.rank, o])).values()].map((o) => {
    const { rank, dpRank, stage } = o;
    return { rank, dpRank, stage, slowdown: Math.min(byDpRank.get(dpRank)!, byStage.get(stage)!) };
  });
  workers.sort((a, b) => b.slowdown - a.slowdown || a.rank - b.rank);
  const slowest = workers.slice(0, Math.ceil(workers.length * SLOWEST_SHARE));
  const isSlow = new Set(slowest.map((w) => w.rank));
  const withoutWorkers = mean(steps((o) => isSlow.has(o.rank)));
  const withoutStage = mean(steps((o) => o.stage === job.stages.at(-1)));
  const total = mean(actual);
  const shareOf = (without: number) => (total - without) / (total - ideal);
  return {
    actual,
    total,
    ideal,
    slowest: slowest.map(({ rank, dpRank, stage }) => ({ rank, dpRank, stage })),
    withoutWorkers,
    withoutStage,
    m_w: shareOf(withoutWorkers),
    m_s: shareOf(withoutStage),
    byKind,
    byStage,
    byDpRank,
  };
}

/** Both ends of a transfer share one name. */
function shownAs(kind: Kind): string {
  if (kind === KIND.forwardSend || kind === KIND.forwardRecv) return 'forward-pp-comm';
  if (kind === KIND.backwardSend || kind === KIND.backwardRecv) return 'backward-pp-comm';
  return kind;
}

interface Shares {
  readonly tori: number;
  readonly tideal: number;
  readonly trem: number;
  readonly rem: number;
}
type ByName = Readonly<Record<string, number>>;
type Result = Readonly<
  Record<
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
const near = (ours: number, theirs: number, what: string) =>
  expect(Math.abs(ours - theirs), `${what}: ${ours}, expected ${theirs}`).toBeLessThan(
    1e-5 * Math.max(1, Math.abs(theirs)),
  );

async function readJob(name: string): Promise<StragglerJob> {
  const file = await asyncBufferFromFile(join(PEERS, `trace-${name}.parquet`));
  const rows = await parquetReadObjects({ file });
  return new StragglerJob(
    rows.map((row) => ({
      kind: row.optype as Kind,
      dpRank: Number(row.dp_rank),
      stage: Number(row.stage),
      rank: Number(row.rank),
      step: Number(row.step),
      start: Number(row.start_ts),
      duration: Number(row.duration),
      sequence: Number(row.seq_id),
    })),
  );
}

const JOBS = [
  ['AR', 'one slow worker', { rank: 0, dpRank: 0, stage: 0 }],
  ['ST', 'a slow last stage', { rank: 7, dpRank: 1, stage: 3 }],
] as const;

describeWithShared('peers/straggler', 'jobs of StragglerAnalysis', () => {
  it.each(JOBS)('our replay of job %s (%s) equals every figure of the paper', async (name, _, slowest) => {
    const job = await readJob(name);
    const result = whatIf(job);
    expect(result.slowest).toEqual([slowest]);
    const workers = json<Shares>(`mw-${name}`);
    const stage = json<Shares>(`ms-${name}`);
    near(result.total, workers.tori, 'T');
    near(result.ideal, workers.tideal, 'ideal T');
    near(result.withoutWorkers, workers.trem, 'T without the slowest workers');
    near(result.m_w, workers.rem, 'M_W');
    near(result.withoutStage, stage.trem, 'T without the last stage');
    near(result.m_s, stage.rem, 'M_S');

    const theirs = json<Result>(`result-${name}`);
    expect(job.steps.map(String)).toEqual(Object.keys(theirs.step_t_nodelay));
    job.steps.forEach((step, i) => {
      near(result.actual[i]!, theirs.step_t_nodelay[step]!, `step ${step}`);
      near(result.ideal, theirs.step_t_noblk[step]!, `ideal step ${step}`);
    });
    for (const [ours, by] of [
      [result.byKind, theirs.blocking_decompose_by_optype],
      [result.byStage, theirs.blocking_decompose_by_stage],
      [result.byDpRank, theirs.blocking_decompose_by_dp_rank],
    ] as const) {
      expect(ours.size).toBe(Object.keys(by).length);
      for (const [of, slowdown] of ours) near(slowdown, by[of]!, `slowdown of ${of}`);
    }
  });
});

describe('a pipeline of our own', () => {
  /**
   * Two pipelines of two stages, two microbatches. Forward 1 s, backward 2 s, reducing 1 s, updating 1 s; the last stage of
   * data-parallel rank 1 takes three times as long. Receives are posted as early as possible, and transfers take no time.
   */
  function pipeline(dpRank: number, step: number): Operation[] {
    const slow = dpRank === 1 ? 3 : 1;
    const rows: Operation[] = [];
    const add = (stage: number, kind: Kind, sequence: number, start: number, end: number) =>
      rows.push({
        kind,
        dpRank,
        stage,
        rank: 2 * dpRank + stage,
        step,
        start,
        duration: end - start,
        sequence,
      });
    // The second stage computes without a pause; the first one waits for its gradients.
    const f1 = [1, 1 + 3 * slow];
    const b1 = [1 + slow, 1 + 4 * slow];
    const end1 = 1 + 6 * slow;
    const b0 = [b1[1]! - slow, end1];
    [0, 1].forEach((i) => {
      add(0, KIND.forward, i, i, i + 1);
      add(1, KIND.forward, i, f1[i]!, f1[i]! + slow);
      add(1, KIND.backward, i, b1[i]!, b1[i]! + 2 * slow);
      add(0, KIND.backward, i, b0[i]!, b0[i]! + 2);
      add(0, KIND.forwardSend, i, i + 1, i + 1);
      add(1, KIND.forwardRecv, i, i === 0 ? 0 : f1[0]! + slow, Math.max(i + 1, i === 0 ? 0 : f1[0]! + slow));
      add(1, KIND.backwardSend, i, b0[i]!, b0[i]!);
      add(0, KIND.backwardRecv, i, i === 0 ? 0 : b0[0]! + 2, Math.max(b0[i]!, b0[0]! + 2 * i));
    });
    const ends = [b0[1]! + 2, end1];
    const done = [1 + 6 * 3 + 2, 1 + 6 * 3];
    [0, 1].forEach((stage) => {
      add(stage, KIND.gradsReduceScatter, 0, ends[stage]!, done[stage]! + 1);
      add(stage, KIND.clipGrads, 0, done[stage]! + 1, 22);
      add(stage, KIND.optimizer, 0, 22, 23);
    });
    return rows;
  }
  const job = new StragglerJob([10, 11].flatMap((step) => [0, 1].flatMap((dp) => pipeline(dp, step))));

  it('takes 23 s per step, 15.5 s without stragglers, 14 s without the slow worker', () => {
    // As recorded, the slow stage: F 1–4, B 4–10, F 10–13, B 13–19. The first stage: B 19–21. Reduced at 22, updated at 23.
    // Ideal, with the mean forward of 1.5 s and backward of 3 s: computed at 13.5, and 2 more.
    // Only the slow worker ideal: F 1–2.5, B 2.5–5.5, F 5.5–7, B 7–10, the first stage to 12, and 2 more.
    const result = whatIf(job);
    expect(result.actual).toEqual([23, 23]);
    expect(result).toMatchObject({ ideal: 15.5, withoutWorkers: 14, withoutStage: 14 });
    expect(result.slowest).toEqual([{ rank: 3, dpRank: 1, stage: 1 }]);
    expect(result.m_w).toBeCloseTo((23 - 14) / (23 - 15.5), 12);
    expect(result.m_s).toBeCloseTo(1.2, 12);
    expect(result.byKind.get(KIND.forward)! * 15.5).toBeCloseTo(18, 12);
    expect(result.byKind.get(KIND.backward)! * 15.5).toBeCloseTo(20.5, 12);
  });
});
