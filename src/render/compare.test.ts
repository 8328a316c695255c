import { describe, expect, it } from 'vitest';
import { drawnRun, steady, work } from '../../test/helpers/compare.js';
import { compareRuns } from '../compare/compare-runs.js';
import { markdownCompare } from './markdown/compare.js';
import { renderCompare } from './terminal/compare.js';
import { displayWidth } from './terminal/text.js';

const EVIL = 'kernel\x1b[2J</details><img src=x> @everyone [a](http://b) `|`';

const REPORT = compareRuns(
  [
    drawnRun({
      label: 'runs/main',
      times: steady(100),
      time: { compute: 0.6, idle_data: 0.4 },
      kernels: [work('gemm', '[8, 1, 1]', 12, 30), work(EVIL, null, 3, 9)],
      phases: { data_wait: 40, forward: 20 },
      findings: [
        {
          id: 'num-workers-zero',
          rule: 'T4',
          title: 'no workers',
          speedup: { low: 1.4, likely: 1.5, high: 1.7 },
        },
      ],
    }),
  ],
  [
    drawnRun({
      label: 'runs/change',
      times: steady(62),
      time: { compute: 1 },
      kernels: [work('gemm', '[8, 1, 1]', 12, 27)],
      phases: { data_wait: 1, forward: 20 },
    }),
  ],
);

describe('a comparison', () => {
  it('reads on a terminal', () => {
    expect(renderCompare(REPORT, { color: false })).toMatchInlineSnapshot(`
      "1.61× faster, 95% between 1.58× and 1.65×: not noise
        step 100 ms → 62.0 ms
        before  runs/main  100 ms, 60 steps, measured; bottleneck gpu
        after   runs/change  62.0 ms, 60 steps, measured; bottleneck gpu

        time of a step   before    after
        compute         60.0 ms  62.0 ms  +2.00 ms
        input wait      40.0 ms        0  −40.0 ms

        phases      before    after
        data_wait  40.0 ms  1.00 ms  −39.0 ms

        kernels                                         before         after
        gone: kernel\\x1b[2J<…e [a](http://b) \`|\`   3 × 3.00 ms             –  −9.00 ms
        shorter: gemm [8, 1, 1]                   12 × 2.50 ms  12 × 2.25 ms  −3.00 ms

        gone: no workers (T4); predicted ×1.50 (×1.40 to ×1.70), measured ×1.61

        note: one run on each side does not show how much runs of the same code
        differ; 0.75% is assumed
      "
    `);
  });

  it('fits the page and lets no name act on it', () => {
    for (const columns of [40, 80, 200]) {
      const text = renderCompare(REPORT, { color: false, columns, all: true });
      const limit = Math.min(columns, 100);
      expect(text.split('\n').filter((line) => displayWidth(line) > limit)).toEqual([]);
      expect(text).not.toContain('\x1b');
    }
  });

  it('a comparison in Markdown is a comment for a pull request, in which names are only text', () => {
    const text = markdownCompare(REPORT);
    expect(text).toMatch(/^### 🟢 Step time: 1\.61× faster, 95% between 1\.\d+× and 1\.\d+×: not noise\n/);
    expect(text).toContain('| input wait | 40.0 ms | 0 | −40.0 ms |');
    expect(text).toContain('predicted ×1.50 (×1.40 to ×1.70), measured ×1.61');
    expect(text).not.toContain('<img');
    expect(text).not.toMatch(/@everyone|\]\(http|http:\/\//);
    expect(text).toContain('<code>kernel&#92;x1b&#91;2J&lt;/details>&lt;img src=x> &#64;everyone');
    expect(text.match(/<details>/g)).toHaveLength(3);
    expect(text.match(/<\/details>/g)).toHaveLength(3);
  });

  it('stays a short comment, however many kernels changed', () => {
    const many = Array.from({ length: 90 }, (_, i) =>
      work(
        `void at::native::kernel_${i}<c10::BFloat16>(${'c10::BFloat16, '.repeat(20)}int)`,
        '[8, 1, 1]',
        1,
        2,
      ),
    );
    const report = compareRuns(
      [drawnRun({ times: steady(100), kernels: [work('gemm', null, 1, 50)] })],
      [drawnRun({ times: steady(200), kernels: many })],
    );
    const text = markdownCompare(report);
    expect(text).toContain(
      '<code>kernel&#95;0&lt;BFloat16> &#91;8, 1, 1&#93;</code> | – | 1&nbsp;×&nbsp;2.00&nbsp;ms',
    );
    expect(text).toContain('Kernels (91 changed)');
    expect(text).toContain('… and 83 more');
    expect(text.length).toBeLessThan(2500);
  });
});
