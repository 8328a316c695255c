import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OperationTable } from '../model/operation-table.js';
import { KIND, type Kind } from './kinds.js';
import { type Drawn, drawJob, type OperationRow, tableOf } from './testing.js';
import { whatIf } from './what-if.js';

const played = (table: OperationTable) => {
  const { whatIf: result, problems } = whatIf(table);
  expect(problems).toEqual([]);
  return result!;
};

/** Forward 1 s, backward 2 s, reduce and update 1 s each, transfers 0. */
const EVEN: Partial<Record<Kind, number>> = {
  [KIND.forward]: 1,
  [KIND.backward]: 2,
  [KIND.gradsReduceScatter]: 1,
  [KIND.optimizer]: 1,
};
const isCompute = (kind: Kind) => kind === KIND.forward || kind === KIND.backward;
const small = { dpRanks: 2, stages: 2, microbatches: 2, steps: [10, 11] };

describe('two ranks of two stages', () => {
  /** The last stage of rank 1 takes three times as long. Expected values are computed by hand. */
  const slow = drawJob({
    ...small,
    time: (kind, { dpRank, stage }) =>
      (EVEN[kind] ?? 0) * (isCompute(kind) && dpRank === 1 && stage === 1 ? 3 : 1),
  });
  const result = played(slow);

  it('have the recorded and the ideal time', () => {
    // Slow stage: F 1–4, B 4–10, F 10–13, B 13–19. First stage: B 10–12, B 19–21, reduced at 22, updated at 23.
    expect(result.recorded_s).toBe(23);
    expect(result.actual_s).toBe(23);
    // Mean forward 12 / 8, backward 24 / 8. Last stage to 10.5, first to 13.5, and 2 more.
    expect(result.ideal_s).toBe(15.5);
    expect(result.slowdown).toBeCloseTo(23 / 15.5, 12);
    expect(result.perStep.map((s) => [s.step, s.recorded_s, s.actual_s, s.ideal_s])).toEqual([
      [10, 23, 23, 15.5],
      [11, 23, 23, 15.5],
    ]);
  });

  it('name the slow worker and its cost', () => {
    // Only rank 1 as recorded: 23. Only stage 1: its forward waits until 1.5, the rest is the same: 24.5.
    expect(result.byDpRank.map((r) => [r.of, r.slowdown * 15.5])).toEqual([
      [1, 23],
      [0, 15.5],
    ]);
    expect(result.byStage.map((s) => [s.of, s.slowdown * 15.5])).toEqual([
      [1, 24.5],
      [0, 14],
    ]);
    expect(result.slowestWorkers).toEqual([{ dpRank: 1, stage: 1, rank: 3, slowdown: 23 / 15.5 }]);
    expect(result.workers.length).toBe(4);
    // With it ideal: F 1–2.5, B 2.5–5.5, F 5.5–7, B 7–10; first stage to 12, and 2 more.
    expect(result.withoutSlowestWorkers_s).toBe(14);
    expect(result.m_w).toBeCloseTo((23 - 14) / (23 - 15.5), 12);
    // Rank 0 is as fast with an ideal last stage as rank 1.
    expect(result.withoutLastStage_s).toBe(14);
    expect(result.m_s).toBeCloseTo(1.2, 12);
  });

  it('divide the slowdown by kind', () => {
    const of = new Map(result.byKind.map((k) => [k.of, k.slowdown * 15.5]));
    // Forwards as recorded: F 1–4, B 4–7, F 7–10, B 10–13; first stage to 16, and 2 more.
    expect(of.get('forward-compute')).toBeCloseTo(18, 12);
    // Backwards: F 1.5–3, B 3–9, F 9–10.5, B 10.5–16.5; first stage to 18.5.
    expect(of.get('backward-compute')).toBeCloseTo(20.5, 12);
    for (const kind of ['forward-pp-comm', 'backward-pp-comm', 'grads-reduce-scatter', 'optimizer'])
      expect(of.get(kind)).toBeCloseTo(15.5, 12);
  });

  it('have no shares without a slow worker', () => {
    const even = played(drawJob({ ...small, time: (kind) => EVEN[kind] ?? 0 }));
    expect([even.actual_s, even.ideal_s, even.slowdown]).toEqual([11, 11, 1]);
    expect([even.m_w, even.m_s]).toEqual([null, null]);
  });

  it('give the same when operations are not numbered', () => {
    expect(played({ ...slow, sequence: slow.sequence.map(() => -1) })).toEqual(result);
  });
});

describe('communication', () => {
  it('takes its time from the last arrival, and its ideal is the median', () => {
    // Reducing takes 1 s, but 6 s in one step of five. The median ignores that, the steps do not.
    const drawn: Drawn = {
      ...small,
      steps: [1, 2, 3, 4, 5],
      time: (kind, { step }) => (kind === KIND.gradsReduceScatter && step === 3 ? 6 : (EVEN[kind] ?? 0)),
    };
    const result = played(drawJob(drawn));
    expect(result.perStep.map((s) => s.actual_s)).toEqual([11, 11, 16, 11, 11]);
    expect(result.ideal_s).toBe(11);
    expect(result.byKind[0]).toEqual({ of: 'grads-reduce-scatter', slowdown: 12 / 11 });
  });

  it('is overlapped where gradients are reduced chunk by chunk', () => {
    const one = (kind: Kind, sequence: number, chunk: number, start: number, duration: number) =>
      [0, 1].map(
        (dpRank): OperationRow => ({ kind, sequence, chunk, start, duration, dpRank, stage: 0, step: 0 }),
      );
    const rows = [
      ...one(KIND.paramsAllGather, 0, 0, 0, 1),
      ...one(KIND.paramsAllGather, 1, 1, 1, 2),
      ...one(KIND.forward, 0, 0, 1, 1),
      ...one(KIND.forward, 1, 1, 3, 1),
      ...one(KIND.backward, 0, 1, 4, 2),
      ...one(KIND.gradsReduceScatter, 0, 1, 6, 2),
      ...one(KIND.backward, 1, 0, 6, 2),
      ...one(KIND.gradsReduceScatter, 1, 0, 8, 2),
      ...one(KIND.separateGradsAllReduce, 0, 0, 10, 1),
      ...one(KIND.clipGrads, 0, 0, 11, 0),
      ...one(KIND.optimizer, 0, 0, 11, 1),
    ];
    expect(played(tableOf(rows)).actual_s).toBe(12);
    // Without overlap, both come after the last backward.
    const plain = rows.filter((r) => r.kind !== KIND.separateGradsAllReduce);
    expect(played(tableOf(plain)).actual_s).toBe(8 + 2 + 2 + 1);
  });

  it('wraps around when stages hold several chunks', () => {
    const at =
      (stage: number) =>
      (kind: Kind, sequence: number, start: number, end: number, chunk = -1) => ({
        kind,
        sequence,
        start,
        duration: end - start,
        chunk,
        stage,
        dpRank: 0,
        step: 0,
      });
    const [first, second] = [at(0), at(1)];
    const rows: OperationRow[] = [
      first(KIND.forwardRecv, 0, 0, 0), // Nothing comes before the first chunk of the model,
      first(KIND.forward, 0, 0, 1, 0),
      first(KIND.forwardSend, 0, 1, 1.5),
      second(KIND.forwardRecv, 0, 0, 1.5),
      second(KIND.forward, 0, 1.5, 2.5, 0),
      second(KIND.forwardSend, 0, 2.5, 3),
      first(KIND.forwardRecv, 1, 1, 3),
      first(KIND.forward, 1, 3, 4, 1),
      first(KIND.forwardSend, 1, 4, 4.5),
      second(KIND.forwardRecv, 1, 2.5, 4.5),
      second(KIND.forward, 1, 4.5, 5.5, 1),
      second(KIND.forwardSend, 1, 5.5, 5.5), // and nothing after the last.
    ];
    const table = tableOf(rows, 2);
    expect(played(table).actual_s).toBe(5.5);
    expect(played({ ...table, globalChunk: table.globalChunk.map(() => -1) }).actual_s).toBe(5.5);
  });
});

describe('incomplete tables', () => {
  const time = (kind: Kind) => EVEN[kind] ?? 0;
  const whole = drawJob({ ...small, steps: [1, 2, 3], time });
  const codes = (table: OperationTable) => {
    const { whatIf: result, problems } = whatIf(table);
    return { steps: result?.perStep.map((s) => s.step), problems: problems.map((p) => [p.code, p.count]) };
  };

  it('lose the steps that lack an operation', () => {
    const duration = whole.duration.slice();
    const row = whole.step.indexOf(2);
    duration[row] = Number.NaN;
    expect(codes({ ...whole, duration })).toEqual({
      steps: [1, 3],
      problems: [
        ['untimed-operations', 1],
        ['uneven-steps', 1],
      ],
    });
  });

  it('lose the steps that have an operation twice', () => {
    const sequence = whole.sequence.slice();
    const row = whole.step.findIndex((s, i) => s === 3 && sequence[i] === 1);
    sequence[row] = 0;
    expect(codes({ ...whole, sequence })).toEqual({ steps: [1, 2], problems: [['uneven-steps', 1]] });
  });

  it('are replayed without operations of unknown kinds', () => {
    const kinds = whole.kinds.map((k) => (k === KIND.optimizer ? 'lr-scheduler' : k));
    expect(codes({ ...whole, kinds })).toEqual({ steps: [1, 2, 3], problems: [['unknown-operations', 12]] });
  });

  it('are not replayed with more stages than any job has', () => {
    const rows = Array.from({ length: 1025 }, (_, stage) => ({
      kind: KIND.forward,
      dpRank: 0,
      stage,
      step: 0,
      start: 0,
      duration: 1,
      sequence: 0,
    }));
    expect(codes(tableOf(rows))).toEqual({ steps: undefined, problems: [['oversized-job', 1]] });
  });

  it('give null without operations', () => {
    expect(codes(tableOf([]))).toEqual({ steps: undefined, problems: [] });
  });

  it('are a problem when operations wait for each other in a circle', () => {
    // The first stage does its backward before its forward.
    const early: readonly string[] = [KIND.backward, KIND.backwardRecv];
    const start = whole.start.map((s, i) =>
      whole.stage[i] === 0 && early.includes(whole.kinds[whole.kind[i]!]!) ? s - 100 : s,
    );
    expect(codes({ ...whole, start })).toEqual({ steps: undefined, problems: [['circular-operations', 1]] });
  });
});

describe('any job', () => {
  const shape = fc.record({
    dpRanks: fc.integer({ min: 1, max: 4 }),
    stages: fc.integer({ min: 1, max: 5 }),
    microbatches: fc.integer({ min: 1, max: 6 }),
    steps: fc.constant([0, 1]),
  });
  /** Times that differ between operations, and are equal for the same operation. */
  const noisy =
    (seed: number): Drawn['time'] =>
    (kind, { dpRank, stage, step, sequence }) => {
      const text = `${seed}/${kind}/${dpRank}/${stage}/${step}/${sequence}`;
      let hash = 0;
      for (const c of text) hash = (Math.imul(hash, 31) + c.charCodeAt(0)) >>> 0;
      return 0.1 + (Math.imul(hash, 2654435761) >>> 0) / 2 ** 32;
    };

  it('is replayed exactly when nothing lies between operations', () => {
    fc.assert(
      fc.property(shape, fc.nat(), (job, seed) => {
        const { perStep } = played(drawJob({ ...job, time: noisy(seed) }));
        for (const step of perStep) expect(step.actual_s).toBeCloseTo(step.recorded_s, 9);
      }),
    );
  });

  it('scales with its times, and its slowdowns do not change', () => {
    fc.assert(
      fc.property(shape, fc.nat(), fc.constantFrom(0.5, 2, 3, 7), (job, seed, factor) => {
        const table = drawJob({ ...job, time: noisy(seed) });
        const scaled = {
          ...table,
          start: table.start.map((s) => s * factor),
          duration: table.duration.map((d) => d * factor),
        };
        const [one, other] = [played(table), played(scaled)];
        expect(other.actual_s).toBeCloseTo(one.actual_s * factor, 9);
        expect(other.ideal_s).toBeCloseTo(one.ideal_s * factor, 9);
        expect(other.slowdown).toBeCloseTo(one.slowdown, 9);
        expect(other.byStage.length).toBe(job.stages);
      }),
    );
  });

  it('has its slow worker named', () => {
    const many = shape.filter((s) => s.dpRanks > 1 && s.microbatches > 1);
    fc.assert(
      fc.property(many, fc.nat(), fc.nat(), (job, a, b) => {
        const at = { dpRank: a % job.dpRanks, stage: b % job.stages };
        const isSlow = (w: { dpRank: number; stage: number }) =>
          w.dpRank === at.dpRank && w.stage === at.stage;
        const time: Drawn['time'] = (kind, w) => (EVEN[kind] ?? 0) * (isCompute(kind) && isSlow(w) ? 3 : 1);
        const { slowestWorkers, slowdown, actual_s, withoutSlowestWorkers_s } = played(
          drawJob({ ...job, time }),
        );
        expect(slowestWorkers).toMatchObject([at]);
        expect(slowdown).toBeGreaterThan(1);
        expect(withoutSlowestWorkers_s).toBeLessThan(actual_s);
      }),
    );
  });

  it('does not depend on the order of rows', () => {
    fc.assert(
      fc.property(shape, fc.nat(), (job, seed) => {
        const table = drawJob({ ...job, time: noisy(seed) });
        const backwards = Object.fromEntries(
          Object.entries(table).map(([name, v]) => [
            name,
            ArrayBuffer.isView(v) ? (v as Int32Array).toReversed() : v,
          ]),
        ) as unknown as OperationTable;
        const [one, other] = [played(table), played(backwards)];
        expect(other.actual_s).toBeCloseTo(one.actual_s, 9);
        expect(other.ideal_s).toBeCloseTo(one.ideal_s, 9);
        expect(other.workers.map((w) => w.rank).sort()).toEqual(one.workers.map((w) => w.rank).sort());
      }),
    );
  });
});
