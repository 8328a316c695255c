// Makes each number of the code a fifth larger and a fifth smaller, and runs the tests that could notice.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Comments and texts (with what is in `${}` of templates), which are skipped; then numbers. */
const TOKENS =
  /\/\/.*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|(?<![\w.$])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?\b/g;
/** These are mostly indices, signs and empty checks, not thresholds or units. */
const PLAIN = new Set(['0', '1', '2']);

export function mutateNumbers(root, targets) {
  const survivors = [];
  let count = 0;
  for (const file of targets.flatMap((t) => sourcesIn(root, t))) {
    for (const mutant of mutantsOf(root, file)) {
      count++;
      if (isNoticed(root, mutant)) continue;
      survivors.push(mutant);
      console.log(`survived: ${file}:${mutant.line}  ${mutant.was} → ${mutant.text}   ${mutant.code}`);
    }
    console.log(`${file}: ${count} numbers changed so far, ${survivors.length} not noticed`);
  }
  mkdirSync(join(root, '.build/mutation'), { recursive: true });
  writeFileSync(join(root, '.build/mutation/numbers.json'), JSON.stringify({ count, survivors }, null, 1));
  const score = count === 0 ? 100 : (100 * (count - survivors.length)) / count;
  console.log(`numbers: ${count - survivors.length} of ${count} changes noticed (${score.toFixed(1)}%)`);
}

function sourcesIn(root, target) {
  if (!statSync(join(root, target)).isDirectory()) return [target];
  return readdirSync(join(root, target), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.ts') && !/\.test\.ts$|-schema\.ts$/.test(f))
    .map((f) => join(target, f));
}

function mutantsOf(root, file) {
  const code = readFileSync(join(root, file), 'utf8');
  return [...code.matchAll(TOKENS)]
    .filter(([token]) => /^\d/.test(token) && !PLAIN.has(token))
    .flatMap((found) => {
      const [was] = found;
      const line = code.slice(0, found.index).split('\n').length;
      const place = { file, line, from: found.index, to: found.index + was.length, was };
      const value = Number(was.replaceAll('_', ''));
      return [1.2, 0.8].map((by) => ({
        ...place,
        text: `${value * by}`,
        code: code.split('\n')[line - 1].trim(),
      }));
    });
}

/** Runs the tests next to it first: if they notice, others need not run. */
function isNoticed(root, mutant) {
  const vitest = (...args) =>
    spawnSync(
      'node',
      ['node_modules/vitest/vitest.mjs', ...args, '--config', 'scripts/mutation/vitest.mjs', '--bail', '1'],
      {
        cwd: root,
        env: { ...process.env, WHYSLOW_MUTANT: JSON.stringify(mutant) },
        stdio: 'ignore',
      },
    ).status !== 0;
  return vitest('run', '--passWithNoTests', dirname(mutant.file)) || vitest('related', '--run', mutant.file);
}
