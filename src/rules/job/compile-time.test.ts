import { describe, expect, it } from 'vitest';
import { jobView } from '../../../test/helpers/draw-job.js';
import { expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { rule } from './compile-time.js';

const EXPECTED = { id: 'compile-time', addresses: 'host', unit: 'ms/step', placed: false } as const;

describe('time of phase compile', () => {
  it('is priced by doing it less: 20 of 30 ms per step', () => {
    const finding = fires(rule, jobView({ phases: { compile: { ms: 2000, count: 5 } } }), EXPECTED);
    expectGain(finding, 30 / 12);
    expect(finding.price!.speedup.low).toBeCloseTo(30 / 20, 3);
    expect(finding.price!.speedup.high).toBeCloseTo(30 / 10, 3);
    expect(finding.evidence[0]!.text).toMatch(
      /^5 compilations took 2.00 s, 400 ms each, one every 20 steps: 67%/,
    );
    expect(finding.evidence[1]!.text).toBe('code: compile() at train.py:7 in main');
  });

  it.each([
    ['there is none', {}, 'no compilation was seen'],
    ['it is short', { compile: { ms: 20, count: 5 } }, '5 compilations took 2.0% of the job’s time'],
    ['it does not come again', { compile: { ms: 2000, count: 1, last: 0 } }, 'once and not again'],
  ])('is not worth a finding if %s', (_, phases, reason) => {
    expect(silence(rule, jobView({ phases }))).toContain(reason);
  });
});
