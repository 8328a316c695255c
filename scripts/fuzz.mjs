// `npm run fuzz [CASES]`: the trace reader with many more damaged files than in `npm test`, from a random seed.
import { ensureInstalled, randomSeed, run } from './lib.mjs';

ensureInstalled();
const env = {
  ...process.env,
  WHYSLOW_SEED: process.env.WHYSLOW_SEED ?? randomSeed(),
  WHYSLOW_FUZZ: process.argv[2] ?? '1000000',
};
run('node', ['node_modules/vitest/vitest.mjs', 'run', 'test/property', '--testTimeout', '86400000'], { env });
