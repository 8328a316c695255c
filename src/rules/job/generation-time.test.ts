import { describe, expect, it } from 'vitest';
import { jobView } from '../../../test/helpers/draw-job.js';
import { fires, silence } from '../../../test/helpers/draw-run.js';
import { withLoader } from '../../../test/helpers/loader-record.js';
import { rule } from './generation-time.js';

const EXPECTED = { id: 'generation-time', addresses: 'host', unit: 'ms/step', placed: false } as const;

describe('time of phase generation', () => {
  const view = jobView({ phases: { generation: { ms: 2000, count: 5 } } });

  it('is named, without a price', () => {
    const finding = fires(rule, view, EXPECTED);
    expect(finding.price).toBeNull();
    expect(finding.evidence[0]!.text).toMatch(
      /^5 generations took 2.00 s, 400 ms each, one every 20 steps: 67%/,
    );
    expect(finding.fix!.code).toMatch(/model\.generate/);
  });

  it('is fixed in the words of the framework', () => {
    const { code } = fires(rule, view, EXPECTED, withLoader({ framework: 'transformers' })).fix!;
    expect(code).toMatch(/GRPOConfig\(\.\.\., use_vllm=True/);
  });

  it.each([
    ['there is none', {}, 'no generation was seen'],
    ['it is short', { generation: { ms: 20, count: 5 } }, '5 generations took 2.0% of the job’s time'],
  ])('is not worth a finding if %s', (_, phases, reason) => {
    expect(silence(rule, jobView({ phases }))).toContain(reason);
  });
});
