// `npm test`: format, lint, types, build, then all tests. Works on a fresh clone.
import { ensureInstalled, run } from './lib.mjs';

ensureInstalled();
const step = (title, program, args) => {
  console.log(`\n== ${title}`);
  run(program, args);
};
step('format and lint (biome)', 'node', ['node_modules/@biomejs/biome/bin/biome', 'check', '.']);
step('types (tsc)', 'node', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']);
step('build', 'node', ['scripts/build.mjs']);
step('tests (vitest)', 'node', ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]);
