import { describe, expect, it } from 'vitest';
import { jobView } from '../../../test/helpers/draw-job.js';
import { expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { withLoader } from '../../../test/helpers/loader-record.js';
import { rule } from './checkpoint-time.js';

const EXPECTED = { id: 'checkpoint-time', addresses: 'host', unit: 'ms/step', placed: false } as const;

describe('time of phase checkpoint', () => {
  it('is priced by doing it less: 20 of 30 ms per step', () => {
    const finding = fires(rule, jobView({ phases: { checkpoint: { ms: 2000, count: 5 } } }), EXPECTED);
    expectGain(finding, 30 / 12);
    expect(finding.price!.speedup.low).toBeCloseTo(30 / 20, 3);
    expect(finding.price!.speedup.high).toBeCloseTo(30 / 10, 3);
    expect(finding.evidence[0]!.text).toMatch(
      /^5 checkpoints took 2.00 s, 400 ms each, one every 20 steps: 67%/,
    );
    expect(finding.evidence[1]!.text).toBe('code: checkpoint() at train.py:7 in main');
  });

  it('is fixed in the words of the framework', () => {
    const view = jobView({ phases: { checkpoint: { ms: 2000, count: 5 } } });
    const code = (framework: string | null) =>
      fires(rule, view, EXPECTED, withLoader({ framework })).fix!.code;
    expect(code('transformers')).toMatch(/^TrainingArguments\(\.\.\., save_steps=1000\)/);
    expect(code('lightning')).not.toMatch(/TrainingArguments|step %/);
    expect(code('a new one')).toBe(code(null));
  });

  it.each([
    ['there is none', {}, 'no checkpoint was seen'],
    ['it is short', { checkpoint: { ms: 20, count: 5 } }, '5 checkpoints took 2.0% of the job’s time'],
    ['it does not come again', { checkpoint: { ms: 2000, count: 1, last: 0 } }, 'once and not again'],
  ])('is not worth a finding if %s', (_, phases, reason) => {
    expect(silence(rule, jobView({ phases }))).toContain(reason);
  });
});
