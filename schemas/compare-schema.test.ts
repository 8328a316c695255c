import { describe, expect, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { DeepReadonly, Plain } from '../src/base/units.js';
import type { CompareReport, FirstRunReport } from '../src/compare/compare-report.js';
import { compareRuns } from '../src/compare/compare-runs.js';
import { compareWithHistory, entriesOf, lineOf } from '../src/compare/history/compare-history.js';
import { drawnRun, steady, work } from '../test/helpers/compare.js';
import { compareSchema, type comparison, type firstRun } from './compare-schema.js';

const finding = { id: 'a', rule: 'T4', title: 'a', speedup: { low: 1, likely: 2, high: 3 }, saving_ms: 50 };
const before = drawnRun({
  times: steady(100),
  time: { compute: 0.5, idle_data: 0.5 },
  kernels: [work('gemm', '[8, 1, 1]', 12, 30)],
  phases: { forward: 20 },
  lines: [{ file: 'a.py', line: 3, function: 'f', source: 'x()', share: 0.5 }],
  ranks: [0, 1].map((rank) => ({ rank, step_ms: 100 })),
  findings: [finding],
  setup: { device: 'H200', batchSize: 8 },
});
const after = drawnRun({
  times: steady(60),
  kernels: [work('gemm', '[8, 1, 1]', 12, 20)],
  phases: { forward: 10, backward: 5 },
  lines: [{ file: 'a.py', line: 4, function: 'f', source: 'x()', share: 0.1 }],
  ranks: [0, 1].map((rank) => ({ rank, step_ms: 60 })),
  setup: { device: 'A100', batchSize: 4 },
});
const faults = (report: object) =>
  compareSchema.safeParse(JSON.parse(JSON.stringify(report))).error?.issues ?? [];

describe('a comparison', () => {
  it('a comparison has the same fields as the types in compare-report.ts', () => {
    type Compared = DeepReadonly<z.infer<typeof comparison>>;
    expectTypeOf<Plain<CompareReport>>().toExtend<Compared>();
    expectTypeOf<Compared>().toExtend<Plain<CompareReport>>();
    type First = DeepReadonly<z.infer<typeof firstRun>>;
    expectTypeOf<Plain<FirstRunReport>>().toExtend<First>();
    expectTypeOf<First>().toExtend<Plain<FirstRunReport>>();
  });

  it('a comparison is as described, with every part filled', () => {
    const report = compareRuns([before], [after]);
    for (const part of ['time', 'phases', 'kernels', 'ranks', 'host_lines', 'setup', 'notes'] as const)
      expect(report[part], part).not.toEqual([]);
    expect(report.findings.predicted).toHaveLength(1);
    expect(faults(report)).toEqual([]);
  });

  it('a comparison is as described, with a history', () => {
    const line = lineOf(before, { time: '2026-11-16T10:00:00Z', verdict: null, accepted: false });
    const report = compareWithHistory(entriesOf(line.repeat(3)).entries, before)!;
    expect(report.history!.points).toHaveLength(4);
    expect(faults(report)).toEqual([]);
  });

  it('a comparison is refused with an extra field or without a part', () => {
    const report = compareRuns([before], [after]);
    expect(faults({ ...report, fps: 3 })).not.toEqual([]);
    expect(faults({ ...report, setup: undefined })).not.toEqual([]);
  });
});
