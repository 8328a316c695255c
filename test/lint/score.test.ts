import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { lintFile } from '../../src/lint/lint-script.js';
import { type Scored, scoreFolder } from './expectations.js';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folders = { bad: at('../fixtures/lint/bad'), good: at('../fixtures/lint/good') };
const count = (scores: readonly Scored[], key: 'right' | 'wrong' | 'missed') =>
  scores.reduce((sum, scored) => sum + scored[key].length, 0);

describe('lint on scripts with known faults', () => {
  const scores = [...scoreFolder(folders.bad), ...scoreFolder(folders.good)];
  const right = count(scores, 'right');
  const precision = right / (right + count(scores, 'wrong'));
  const recall = right / (right + count(scores, 'missed'));

  it('finds them, and little else', () => {
    console.log(
      [
        'script                      right  wrong  missed',
        ...scores.map(({ file, right, wrong, missed }) =>
          [file.padEnd(28), ...[right, wrong, missed].map((list) => String(list.length).padStart(5))].join(
            ' ',
          ),
        ),
        `${scores.length} scripts: precision ${(100 * precision).toFixed(1)}%, recall ${(100 * recall).toFixed(1)}%`,
      ].join('\n'),
    );
    expect(scores.length).toBeGreaterThanOrEqual(24);
    expect(right).toBeGreaterThan(100);
    expect(precision).toBeGreaterThanOrEqual(0.95);
    expect(recall).toBeGreaterThanOrEqual(0.9);
  });

  it('reports nothing in scripts without faults', () => {
    const wrong = scoreFolder(folders.good).flatMap(({ file, wrong }) => wrong.map((w) => `${file}:${w}`));
    expect(wrong).toEqual([]);
  });
});

/**
 * The zoo's programs plant their faults by parameters (`if saved: torch.save(…)`), which lint leaves alone. These do not
 * depend on any.
 */
const IN_ZOO = [
  'programs/cases_unseen_other.py W3 update = torch.optim.Adam(model.parameters(), lr=1e-3)',
  'ranks/make.py T4 self.batches: Iterator[Tensor] = iter(torch.utils.data.DataLoader(Rows(), batch_size=None))',
  'ranks/make.py T9 for i in range(WARM_UP):',
  'ranks/make.py T23 torch.cuda.synchronize()',
];

it('reports in the zoo’s programs only what every case of them does', () => {
  const found = ['programs', 'ranks'].flatMap((folder) =>
    readdirSync(at(`../../zoo/${folder}`))
      .filter((name) => name.endsWith('.py'))
      .flatMap((name) => {
        const path = join(at(`../../zoo/${folder}`), name);
        const linted = lintFile(`${folder}/${name}`, readFileSync(path, 'utf8'));
        expect(linted.problems).toEqual([]);
        // Many loops in one script, which measure what the profiler costs and not what a fix gains.
        if (name === 'cpu_loops.py') return [];
        return linted.findings.map(({ file, rule, source }) => `${file} ${rule} ${source}`);
      }),
  );
  expect(found).toEqual(IN_ZOO);
});
