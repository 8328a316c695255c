import { describe, expect, it } from 'vitest';
import { drawnRun, steady, work } from '../../test/helpers/compare.js';
import { share } from '../base/units.js';
import { compareRuns, stepSentence } from './compare-runs.js';
import type { StepComparison } from './step-times/step-comparison.js';

const finding = (id: string, speedup: number | null, saving = 0) => ({
  id,
  rule: id.toUpperCase(),
  title: `about ${id}`,
  speedup: speedup === null ? null : { low: 0.9 * speedup, likely: speedup, high: 1.1 * speedup },
  saving_ms: saving,
});

describe('compareRuns', () => {
  it('says what changed, by how much and that it is not noise', () => {
    const report = compareRuns(
      [drawnRun({ times: steady(100), time: { compute: 0.6, idle_data: 0.4 } })],
      [drawnRun({ times: steady(88), time: { compute: 0.68, idle_data: 0.32 } })],
    );
    expect(report.verdict).toBe('faster');
    expect(report.sentence).toMatch(/^12\.0% faster, 95% between 1\d\.\d and 1\d\.\d%: not noise$/);
    expect(report.step.before_ms).toBeCloseTo(100, 0);
    expect(report.step.speedup.likely).toBeCloseTo(100 / 88, 2);
    const wait = report.time.find((t) => t.class === 'idle_data')!;
    expect(wait.before_ms).toBeCloseTo(40, 0);
    expect(wait.after_ms).toBeCloseTo(28.2, 0);
  });

  it('matches kernels by name and grid, whatever their order', () => {
    const before = [
      work('gemm', '[8, 1, 1]', 12, 30),
      work('gemm', '[64, 1, 1]', 4, 20),
      work('softmax', '[4, 1, 1]', 10, 10),
      work('copy', null, 2, 10),
    ];
    const after = [
      work('softmax', '[4, 1, 1]', 20, 20),
      work('flash', '[9, 1, 1]', 1, 5),
      work('gemm', '[128, 1, 1]', 4, 33),
      work('gemm', '[8, 1, 1]', 12, 15),
    ];
    const { kernels } = compareRuns(
      [drawnRun({ times: steady(100), kernels: before })],
      [drawnRun({ times: steady(100), kernels: after })],
    );
    expect(kernels.map((k) => [k.name, k.shape, k.change])).toEqual([
      ['gemm', '[8, 1, 1]', 'shorter'],
      ['gemm', null, 'reshaped'],
      ['softmax', '[4, 1, 1]', 'more-often'],
      ['copy', null, 'gone'],
      ['flash', '[9, 1, 1]', 'new'],
    ]);
    expect(kernels[2]).toMatchObject({ before_count: 10, after_count: 20, before_ms: 10, after_ms: 20 });
  });

  it('leaves out kernels that do not matter, and sides without a trace', () => {
    const run = drawnRun({
      times: steady(100),
      kernels: [work('gemm', null, 1, 90), work('fill', null, 1, 0.1)],
    });
    const other = drawnRun({ times: steady(100), kernels: [work('gemm', null, 1, 90.2)] });
    expect(compareRuns([run], [other]).kernels).toEqual([]);
    expect(compareRuns([run], [drawnRun({ times: steady(100) })]).kernels).toEqual([]);
  });

  it('a prediction is compared with the measured gain of its fix', () => {
    const { findings } = compareRuns(
      [drawnRun({ times: steady(100), findings: [finding('t4', 2.1, 52), finding('t9', null)] })],
      [drawnRun({ times: steady(50), findings: [finding('t9', null), finding('t8', 1.2)] })],
    );
    expect(findings.gone.map((f) => f.id)).toEqual(['t4']);
    expect(findings.new.map((f) => f.id)).toEqual(['t8']);
    expect(findings.predicted).toHaveLength(1);
    expect(findings.predicted[0]!.speedup.likely).toBe(2.1);
    expect(findings.predicted[0]!.measured).toBeCloseTo(2, 2);
    expect(findings.together).toBeNull();
  });

  it('several fixes are compared together, because their gains cannot be separated', () => {
    const { findings } = compareRuns(
      [drawnRun({ times: steady(100), findings: [finding('t4', 1.5, 33), finding('t9', 1.4, 27)] })],
      [drawnRun({ times: steady(40) })],
    );
    expect(findings.predicted.map((p) => p.measured)).toEqual([null, null]);
    expect(findings.together!.predicted).toBeCloseTo(2.5, 1);
    expect(findings.together!.measured).toBeCloseTo(2.5, 2);
  });

  it('compares per sample where batch sizes are known and differ', () => {
    const report = compareRuns(
      [drawnRun({ times: steady(100), setup: { batchSize: 32 } })],
      [drawnRun({ times: steady(150), setup: { batchSize: 64 } })],
    );
    expect(report.verdict).toBe('faster');
    expect(report.step).toMatchObject({ per: 'sample' });
    expect(report.step.after_ms).toBeCloseTo(150, 0);
    expect(report.sentence).toContain('faster per sample');
    expect(report.notes.join()).toContain('different batch sizes: 32 before, 64 after');
  });

  it('counts all batches of a step that accumulates gradients', () => {
    const iteration = {
      optimizer_steps: 1,
      optimizers: 1,
      backward_passes: 4,
      varies: false,
      rollout: false,
    };
    const report = compareRuns(
      [drawnRun({ times: steady(50), setup: { batchSize: 16 } })],
      [
        drawnRun({
          times: steady(60),
          setup: { batchSize: 8 },
          step: { iteration: { ...iteration, text: '1 optimizer step after 4 backward passes' } },
        }),
      ],
    );
    expect(report.verdict).toBe('faster');
    expect(report.step.speedup.likely).toBeCloseTo(50 / 16 / (60 / 32), 1);
  });

  it('notes other devices, versions, world sizes and numbers of steps, and compares them as they are', () => {
    const report = compareRuns(
      [drawnRun({ times: steady(100), setup: { device: 'H200', torch: '2.11', worldSize: 8 } })],
      [drawnRun({ times: steady(150, 12), setup: { device: 'A100', torch: '2.13', worldSize: 4 } })],
    );
    expect(report.verdict).toBe('slower');
    expect(report.step.per).toBe('step');
    const notes = report.notes.join('\n');
    for (const text of [
      'H200 before, A100 after',
      '2.11 before, 2.13 after',
      '8 before, 4 after',
      '60 before, 12',
    ])
      expect(notes).toContain(text);
  });

  it('says which step times are estimates, and is less sure of them', () => {
    const widthOf = (step: object) => {
      const { step: found, notes } = compareRuns(
        [drawnRun({ times: steady(100), step })],
        [drawnRun({ times: steady(90) })],
      );
      return { width: found.speedup.high / found.speedup.low, notes: notes.join() };
    };
    const measured = widthOf({});
    const estimated = widthOf({ corrected: true, profiled_ms: 150 });
    expect(estimated.notes).toContain('the side before are estimated');
    expect(measured.notes).not.toContain('estimated');
    expect(estimated.width).toBeGreaterThan(measured.width + 0.1);
  });

  it('shows ranks and lines of the job, also where lines moved', () => {
    const line = (at: number, share: number, source = 'x = load()') => ({
      file: 'train.py',
      line: at,
      function: 'main',
      source,
      share,
      samples: 100,
    });
    const ranks = (a: number, b: number) => [
      { rank: 0, step_ms: a },
      { rank: 1, step_ms: b },
    ];
    const report = compareRuns(
      [drawnRun({ times: steady(100), lines: [line(10, 0.6)], ranks: ranks(100, 100) })],
      [drawnRun({ times: steady(100), lines: [line(14, 0.3), line(2, 0.3, 'y()')], ranks: ranks(100, 120) })],
    );
    expect(report.ranks).toEqual([
      { rank: 0, before_ms: 100, after_ms: 100 },
      { rank: 1, before_ms: 100, after_ms: 120 },
    ]);
    expect(report.host_lines.map((l) => [l.name, l.before_share, l.after_share])).toEqual([
      ['train.py:14', 0.6, 0.3],
      ['train.py:2', null, 0.3],
    ]);
  });

  it('runs of one side that differ make the answer inconclusive, and it says how many runs would settle it', () => {
    const side = (means: number[]) => means.map((m) => drawnRun({ times: steady(m) }));
    const report = compareRuns(side([100, 104, 97]), side([103, 99, 104]));
    expect(report.verdict).toBe('cannot-tell');
    expect(report.sentence).toMatch(
      /slower, but runs of the same side differ by \d\.\d%.*: inconclusive; record \d+ runs/,
    );
    expect(report.step.more_runs).toBeGreaterThan(3);
  });
});

const undecided = (low: number, likely: number, high: number, more: Partial<StepComparison> = {}) =>
  stepSentence(
    {
      speedup: { low, likely, high },
      verdict: 'cannot-tell',
      spread: null,
      drift: 0,
      moreSteps: 47,
      moreRuns: null,
      ...more,
    } as StepComparison,
    share(0.95),
    '',
  );

describe('inconclusive runs', () => {
  it('the sentence gives the range of the change', () => {
    expect(undecided(0.8, 1.1, 1.3)).toBe(
      '9.1% faster, but that may be noise (95% between 25.0% slower and 23.1% faster): inconclusive; record 47 more steps on each side',
    );
  });

  it('name no range that says nothing', () => {
    expect(undecided(1e-7, 1.4, 4e6, { spread: 0.688 })).toBe(
      '28.6% faster, but runs of the same side differ by 68.8%: inconclusive; record 47 more steps on each side',
    );
  });

  it('inconclusive runs are not called faster', () => {
    expect(undecided(0.8, 1.0001, 1.3)).toMatch(/^No difference seen, but that may be noise/);
  });
});
