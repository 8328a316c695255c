// Vitest for `npm run mutate`: tests that need no process of their own, and one changed number if there is one.
import { defineConfig } from 'vitest/config';

const { WHYSLOW_MUTANT } = process.env;
const mutant = WHYSLOW_MUTANT ? JSON.parse(WHYSLOW_MUTANT) : null;

export default defineConfig({
  plugins: [
    {
      name: 'one changed number',
      enforce: 'pre',
      transform: (code, id) =>
        mutant && id.endsWith(mutant.file)
          ? code.slice(0, mutant.from) + mutant.text + code.slice(mutant.to)
          : null,
    },
  ],
  test: {
    include: ['src/**/*.test.ts', 'test/report/*.test.ts'],
    setupFiles: ['test/helpers/cases.ts'],
    testTimeout: 20_000,
  },
});
