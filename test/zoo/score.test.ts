import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { confidenceTable } from '../../zoo/confidence.js';
import { scoreCase, totalsOf } from '../../zoo/score.js';
import type { CaseTruth } from '../../zoo/truth.js';

const TRUTH: CaseTruth = {
  name: 'planted',
  step_ms: 10,
  step_ms_attached: 14,
  bottleneck: 'host',
  rules: ['T15'],
  not_a_gain: ['T23-host-sync'],
  measured_speedup: 2,
};

function report(stepMs: number, ...findings: readonly [rule: string, likely: number, confidence: number][]) {
  return {
    verdict: { bottleneck: 'host', confidence: 0.93 },
    step: { ms: stepMs },
    findings: findings.map(([rule, likely, confidence]) => ({
      rule,
      id: rule,
      fix: { text: '', code: '' },
      confidence,
      addresses: 'host',
      speedup: { low: likely / 1.2, likely, high: likely * 1.2 },
    })),
  } as unknown as Report;
}

describe('the score of a case', () => {
  it('has the gain, its range and the step', () => {
    expect(scoreCase(TRUTH, report(11.9, ['T15', 2.3, 0.9]))).toMatchObject({
      verdict: true,
      top2: true,
      predicted: 2.3,
      gain: true,
      inRange: true,
      overpromised: false,
      step: true,
      attachedStep: true,
    });
    expect(scoreCase(TRUTH, report(8.1, ['T15', 2.7, 0.9]))).toMatchObject({
      gain: false,
      inRange: false,
      overpromised: true,
      step: true,
      attachedStep: false,
    });
  });

  it('asks nothing about ranges where the fix is not priced', () => {
    expect(scoreCase(TRUTH, report(10))).toMatchObject({ gain: false, inRange: null, overpromised: null });
  });

  it('a predicted gain of a fix that gains nothing counts as a false gain', () => {
    expect(scoreCase(TRUTH, report(10, ['T23', 2.5, 0.8])).falsePromises).toEqual(['T23 ×2.50']);
  });
});

it('totals have the median width of ranges', () => {
  const scores = [2.1, 2.6].map((gain) => scoreCase(TRUTH, report(10, ['T15', gain, 0.9])));
  const totals = totalsOf(scores);
  expect(totals.inRange).toEqual({ right: 1, of: 2 });
  expect(totals.rangeWidth).toBeCloseTo(1.44, 6);
});

it('stated confidence is compared with what was right', () => {
  const scores = [scoreCase(TRUTH, report(10, ['T15', 2, 0.85], ['T23', 1.01, 0.4], ['T18', 1, 0.9]))];
  expect(confidenceTable(scores).split('\n')).toEqual([
    'verdict 0.9–1.0: stated 0.93, right 1 of 1',
    'finding 0.8–0.9: stated 0.85, right 1 of 1',
    'finding 0.0–0.5: stated 0.40, right 0 of 1',
  ]);
});
