// `npm run mutate [FOLDER OR FILE]`: changes the code in small ways and tells which changes no test notices. By default, the
// code that decides what users read. First Stryker (operators, conditions, blocks), then numbers, which Stryker leaves alone.
// Takes an hour or more for everything; not part of `npm test`. Reports: .build/mutation/.
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root, run, tryRun } from './lib.mjs';
import { mutateNumbers } from './mutation/numbers.mjs';

const DECIDES = ['src/diagnosis', 'src/report', 'src/run/lateness', 'src/rules/run-rules.ts'];

const options = process.argv.slice(2).filter((a) => a.startsWith('--'));
const asked = process.argv.slice(2).filter((a) => !a.startsWith('--'));
const targets = asked.length > 0 ? asked : DECIDES;
for (const target of targets.filter((t) => !existsSync(new URL(t, root)))) {
  console.error(`there is no ${target}`);
  process.exit(2);
}
ensureInstalled();
/** Installed when asked for: 160 packages that nothing else needs. */
const STRYKER = ['@stryker-mutator/core@9.6.1', '@stryker-mutator/vitest-runner@9.6.1'];
if (!options.includes('--only-numbers')) {
  if (!existsSync(new URL('node_modules/@stryker-mutator/core', root)))
    run('npm', ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', ...STRYKER]);
  const patterns = targets.map((t) => (statSync(new URL(t, root)).isDirectory() ? `${t}/**/*.ts` : t));
  const mutate = [...patterns, '!src/**/*.test.ts'].join(',');
  const stryker = ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run'];
  tryRun('node', [...stryker, 'scripts/mutation/stryker.mjs', '--mutate', mutate]);
}
if (!options.includes('--only-stryker')) mutateNumbers(fileURLToPath(root), targets);
