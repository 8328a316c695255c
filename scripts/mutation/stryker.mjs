// Settings of Stryker for `npm run mutate`.
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'scripts/mutation/vitest.mjs', related: true },
  // Emptied texts are noise here: words change often and are checked where they matter.
  mutator: { excludedMutations: ['StringLiteral'] },
  // What runs once, on import, would need every test again for every change.
  ignoreStatic: true,
  concurrency: 1,
  // A timeout counts as noticed: on a busy machine it must not come too early.
  timeoutMS: 30_000,
  reporters: ['progress-append-only', 'clear-text', 'html', 'json'],
  clearTextReporter: { logTests: false },
  htmlReporter: { fileName: '.build/mutation/report.html' },
  jsonReporter: { fileName: '.build/mutation/report.json' },
  tempDirName: '.build/stryker',
  ignorePatterns: ['dist', '.venv', '.bench', '.build'],
  // Stryker would rewrite tsconfig.json with TypeScript's API, which TypeScript 7 does not have. Vitest needs no rewriting.
  tsconfigFile: 'not-rewritten.json',
  disableTypeChecks: false,
};
