import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import { root } from '../helpers/cli.js';

/** Real logs of four ranks whose computing and links are sleeps (zoo/sleeping-ranks), so what hides a delay is known. */
const told = (name: string) =>
  diagnose([join(root, 'zoo/sleeping-ranks', name, 'log')], { steps: null, ranks: null, jobs: 1 });
function costOf(name: string): number {
  const text = readFileSync(join(root, 'zoo/sleeping-ranks', name, 'truth.json'), 'utf8');
  const { healthy_ms, faulty_ms } = JSON.parse(text) as Readonly<Record<string, number>>;
  return Math.max(0, faulty_ms! - healthy_ms!);
}

/** `least`: the part of the measured cost that a log shows. */
it.each([
  ['exposed_forward', { least: 0.8, verdict: 'comms' }],
  ['slow_gpu', { least: 0.8, verdict: 'compute' }],
  ['slow_gpu_comms', { least: 0.2, verdict: 'comms' }],
  ['exposed_backward', { least: 0, verdict: 'comms' }],
  ['partly_hidden', { least: 0, verdict: 'comms' }],
  ['hidden_end', { least: 0, verdict: 'comms' }],
])(
  '%s: the late rank is named, and no more is promised than can be won',
  async (name, { least, verdict }) => {
    const report = await told(name);
    const cost = costOf(name);
    expect(report.stragglers).toMatchObject([{ ranks: [2], cause: 'gpu', pattern: 'persistent' }]);
    const { cost_ms, cost_high_ms, sentence } = report.stragglers[0]!;
    expect(cost_ms).toBeLessThanOrEqual(1.3 * cost + 1);
    expect(cost_ms).toBeGreaterThanOrEqual(least * cost);
    const finding = report.findings.find((f) => f.id === 'late-rank-2')!;
    expect(finding.saving_ms ?? 0).toBeLessThanOrEqual(1.3 * cost + 1);
    expect(report.verdict.bottleneck).toBe(verdict);
    // Where a part is left open, the range has what can be won, and the sentence says what tells.
    expect(cost_high_ms === null).toBe(least === 0.8);
    if (cost_high_ms !== null) {
      expect(cost_high_ms).toBeGreaterThan(0.7 * cost);
      expect(sentence).toContain('a trace does');
    }
  },
);

it('healthy: no rank is late', async () => {
  expect((await told('healthy')).stragglers).toEqual([]);
});
