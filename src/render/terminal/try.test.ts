import { describe, expect, it } from 'vitest';
import { TRIALS } from '../../remedies/remedies.js';
import type { Trial, TryReport } from '../../trial/trials.js';
import { renderFixes, renderTry } from './try.js';

const around = (likely: number) => ({ low: likely - 0.03, likely, high: likely + 0.03 });

const trial = (given: Partial<Trial> & Pick<Trial, 'fix' | 'outcome'>): Trial => ({
  fixes: given.fix.split(' + '),
  title: '',
  finding: null,
  rule: null,
  predicted: null,
  advised: null,
  value: null,
  searched: [],
  measured: null,
  step_ms: null,
  losses: { verdict: 'unknown', difference: null, steps: 0, same: 0 },
  memory_mb: null,
  applied: [],
  reason: null,
  start_s: null,
  graph_breaks: {},
  turns: 1,
  ...given,
});

const REPORT: TryReport = {
  schema: 'whyslow/try/1',
  command: ['python', 'train.py'],
  started: '2026-11-16T10:00:00.000Z',
  device: 'NVIDIA H200',
  torch: '2.11.0',
  framework: 'plain',
  ranks: 1,
  as_it_is: { step_ms: 35.6, memory_mb: 10_240, turns: 5, steps: 200 },
  trials: [
    trial({
      fix: 'tf32',
      outcome: 'faster',
      predicted: around(1.9),
      measured: around(1.84),
      losses: { verdict: 'differs', difference: 0.0004, steps: 50, same: 0 },
      memory_mb: 10_240,
      applied: ['fp32 matrix products in TF32'],
    }),
    trial({
      fix: 'compile',
      outcome: 'crashed',
      reason: 'InductorError: no \x1b[31mcompiler',
      graph_breaks: { 'print in forward': 3 },
    }),
    trial({
      fix: 'tf32 + gc-frozen',
      outcome: 'faster',
      measured: around(2.5),
      losses: { verdict: 'rounding', difference: 1e-6, steps: 50, same: 0 },
      memory_mb: 11_264,
      start_s: 41,
    }),
  ],
  best: 'tf32 + gc-frozen',
  patch: null,
  by_hand: [],
  paste: ['torch.set_float32_matmul_precision("high")'],
  notes: ['the job sets no seed, so trials set seed 0'],
  seconds: 300,
  complete: true,
};

describe('the table of trials', () => {
  const text = renderTry(REPORT, { pairs: 14, right: 11, error: 0.06 }, { color: false, columns: 100 });

  it('shows predicted and measured gains, losses, memory and outcome', () => {
    expect(text).toContain('Unchanged: 35.6 ms per step (5 turns, 200 steps, 10.7 GB at most)');
    expect(text).toMatch(
      /^tf32 +×1\.90 \(1\.87–1\.93\) +×1\.84 \(1\.81–1\.87\) +differ by 0\.04% +\+0% +faster$/m,
    );
    expect(text).toMatch(/^compile +– +– +– +crashed$/m);
    expect(text).toMatch(/^together +– +×2\.50 \(2\.47–2\.53\) +equal to rounding +\+10% +faster$/m);
    expect(text).toContain('    tf32 + gc-frozen\n    the first step ends 41.0 s later');
    expect(text).toContain('3 graph breaks, e.g. print in forward');
  });

  it('ends with what to do', () => {
    expect(text).toContain(
      'Best: tf32 + gc-frozen, ×2.50 (95% between 2.47 and 2.53).\nPaste into the script:\n    torch.set_',
    );
    expect(text).toContain('Losses differ with tf32: train long enough');
    expect(text).toContain(
      'So far 14 predictions were tried here: 11 met the measured range, median error 6.0%.',
    );
  });

  it('shows the numbers that a search tried, and the patch to apply', () => {
    const measured = around(3.4);
    const number = (value: number, likely: number | null) => ({
      value,
      measured: likely === null ? null : around(likely),
      step_ms: null,
      outcome: likely === null ? ('crashed' as const) : ('faster' as const),
      reason: null,
    });
    const searched = [number(4, 2.6), number(8, 3.4), number(16, null)];
    const loader = trial({
      fix: 'loader-workers',
      outcome: 'faster',
      measured,
      advised: 4,
      value: 8,
      searched,
    });
    const report = {
      ...REPORT,
      best: 'loader-workers',
      trials: [loader],
      patch: '--- a/train.py\n',
      by_hand: [],
    };
    const shown = renderTry(report, null, { color: false, columns: 100, patch: 'my fix.diff' });
    expect(shown).toContain('    tried 4: ×2.60 (advised), 8: ×3.40, 16: crashed\n');
    expect(shown).toContain("Apply it:\n    git apply 'my fix.diff'\n");
    expect(renderTry(report, null, { color: false, columns: 100 })).toContain('Or let --patch fix.diff');
    const without = { ...report, patch: null };
    expect(renderTry(without, null, { color: false, columns: 100, patch: 'x' })).toContain('No patch: ');
  });

  it('lets no text act on the terminal, and has no line that is too long', () => {
    expect(text).not.toContain('\x1b');
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });

  it('the table of trials without a fix that helped says so', () => {
    const none = { ...REPORT, best: null, paste: [], trials: [], as_it_is: null };
    const options = { color: false, columns: 80 };
    expect(renderTry(none, null, options)).toContain('No fix made the steps measurably faster.');
    expect(renderTry({ ...none, complete: false }, null, options)).toContain('Nothing to recommend yet.');
  });
});

it('every fix is listed', () => {
  const text = renderFixes(TRIALS, { color: false, columns: 80 });
  for (const { id } of TRIALS) expect(text).toMatch(new RegExp(`^  ${id} `, 'm'));
});
